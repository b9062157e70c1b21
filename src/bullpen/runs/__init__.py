"""One waking of one thread, from first look to rest.

`loop` is the one loop; `rules` holds statuses, legal moves and limits; `transcript` is what the model sees. A run acts
only through `bullpen.tools`: nothing here can post, react or remember by itself.
"""
