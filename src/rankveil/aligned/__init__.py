"""The method `aligned`: row r belongs to record r, through one joint channel per record."""
