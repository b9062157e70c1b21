"""Storage elsewhere for the bytes of files: does it answer, and does it know us?

Imported only where such storage is set: what it takes to ask somebody outside is as much again as the whole command.
"""

from __future__ import annotations

from bullpen.doctor.types import Finding, ok, problem
from bullpen.errors import Unavailable
from bullpen.files import s3
from bullpen.net.allowance import Allowance
from bullpen.net.client import Egress
from bullpen.settings import Settings


async def examine(settings: Settings) -> Finding:
    where = f"the bucket {settings.s3.bucket} at {settings.s3.endpoint}"
    async with Egress(Allowance({s3.USE: [s3.url_of(settings.s3)]})) as egress:
        try:
            await s3.S3Blobs(settings.s3, lambda: egress, settings.blobs).check()
        except Unavailable as error:
            advice = "Correct the s3 settings, or look at the storage. Until then files can neither be sent nor read."
            return problem("storage", f"The bytes of files are kept in {where}. {error.message}", advice)
    return ok("storage", f"The bytes of files are kept in {where}, which answers.")
