"""The one way out: every request that leaves this process goes through `Egress`.

It resolves a name once, judges every address, connects to one of those it judged, and does so anew at each redirect.
Private hosts are reached only by the use they were listed for. It knows HTTP and nothing of tools, models or secrets:
whoever asks brings a URL, headers and limits, and gets bytes or one of our errors.
"""
