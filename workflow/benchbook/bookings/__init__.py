"""Several bookings side by side: what differs between them, and what may be claimed across them (method.md 10).

sides.py     which bookings stand for which side
taken.py     what is read of each finished booking
across.py    pure: their runs together, compared side against side, with the levels that this allows
"""
