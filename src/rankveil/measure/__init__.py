"""The only room that sees counts and draws noise: what is asked, and the noisy answers."""
