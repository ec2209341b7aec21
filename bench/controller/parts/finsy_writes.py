"""Writes routes with finsy: ADDRESS P4INFO JSON ENTRIES SINGLE. Says entries per second, made and written in requests of 256, and one by one."""

import asyncio
import sys
import time
from pathlib import Path
from unittest.mock import MagicMock

# finsy reads paths of gNMI with it, of which there are none here.
sys.modules.setdefault("parsy", MagicMock())

import finsy as fy  # noqa: E402

address, p4info, device_config, entries, single = sys.argv[1:6]
entries, single = int(entries), int(single)


def route(n):
    return fy.P4TableEntry(
        "forwarding.route",
        match=fy.Match(dst_addr=f"{10 + (n >> 24)}.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}/32"),
        action=fy.Action("forwarding.to_port", port=1, dst_mac="02:00:00:00:00:01"),
    )


async def main():
    options = fy.SwitchOptions(p4info=Path(p4info), p4blob=Path(device_config), p4force=True)
    async with fy.Switch("sw", address, options) as switch:
        begin = time.perf_counter()
        for at in range(0, entries, 256):
            await switch.insert([route(n) for n in range(at, min(entries, at + 256))])
        batches = entries / (time.perf_counter() - begin)
        begin = time.perf_counter()
        for n in range(entries, entries + single):
            await switch.insert([route(n)])
        print(batches, single / (time.perf_counter() - begin))


asyncio.run(main())
