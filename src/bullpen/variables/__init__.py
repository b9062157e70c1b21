"""Values that tools and models need: plain text and secrets, each at home in one scope.

Owns how a value is found (which scope wins), how a secret is sealed, and how a text refers to one without holding it.
Does not know who uses them: a secret is opened by the last function before a socket, and by nobody else.
"""
