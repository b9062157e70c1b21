"""The outbox: what has to be sent to chats elsewhere, written with the change it tells of."""
