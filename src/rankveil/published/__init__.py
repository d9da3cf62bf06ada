"""The paper's and its predecessor's algorithms, exactly as printed, behind the same call as the sound methods.

They exist to reproduce, to compare and to audit. The tables they release are not differentially private.

    centroids.py   noise on cluster centroids: Algorithm 1, Algorithm 2, the predecessor's scale, or none;
                   rows that repeat the value of their cluster
    mdav.py        maximum distance to average vector, for numbers and labels
"""
