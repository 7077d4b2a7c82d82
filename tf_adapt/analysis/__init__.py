"""What a pretrained encoder knows before and after tuning: the analyses of section 5 of the paper.

Source: Peters, Ruder, Smith 2019, "To Tune or Not to Tune? Adapting Pretrained Representations to
Diverse Tasks", figures 1 and 2, table 6.
"""
