"""What a booking will take before it is hired: time, money, the effects it can find, and what to cut.

    earlier     what sessions on disk took on such a node
    estimate    low, expected and high seconds, and where they come from
    times       boot, wave and reading of this booking, from earlier sessions or from stated defaults
    schedule    sessions in order, phase by phase
    detectable  the smallest effect that each comparison will find
    budget      what to cut when it does not fit, what to add when there is room
    plan        all of it as one value; text prints it, present/figure_plan.py draws it
"""
