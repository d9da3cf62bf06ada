"""Fitting: from measurements to a model. Post-processing (T1): nothing here sees data or draws noise."""
