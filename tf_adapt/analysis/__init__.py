"""Analyses of encoders before and after tuning, and of domains: section 5 of the paper.

Source: Peters, Ruder, Smith 2019, "To Tune or Not to Tune? Adapting Pretrained Representations to
Diverse Tasks", figures 1 and 2, table 6.
"""
