"""Lines of thought. A thread belongs to one agent; its scope says what it spans: one space, all spaces, or nothing yet.

Holds the active space and the state (idle or queued). Who may drive it is the lease's business (engine/leases.py);
what happens in it is a run's.
"""
