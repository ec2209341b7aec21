import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** Numbers of Linux (x86-64 and arm64 agree) from its headers: socket.h, if_packet.h, if_ether.h, poll.h. */
export const linux = {
  afPacket: 17,
  sockRaw: 3,
  etherTypeAll: 0x0003,
  solSocket: 1,
  soReceiveBuffer: 8,
  soSendBuffer: 7,
  soReceiveBufferForce: 33,
  solPacket: 263,
  packetAddMembership: 1,
  packetStatistics: 6,
  packetAuxdata: 8,
  packetIgnoreOutgoing: 23,
  membershipPromiscuous: 1,
  messageTruncated: 0x20,
  messageDontWait: 0x40,
  pollIn: 1,
  pollOut: 4,
} as const;

type Address = number | bigint;

/** What is used of libc. Buffers may lie over shared memory; those that a kernel structure points to are given by address. */
export interface Libc {
  socket(domain: number, type: number, protocol: number): number;
  bind(socket: number, address: Uint8Array, length: number): number;
  setsockopt(socket: number, level: number, option: number, value: Uint8Array, length: number): number;
  getsockopt(socket: number, level: number, option: number, value: Uint8Array, length: Uint8Array): number;
  recvmmsg(socket: number, messages: Uint8Array, count: number, flags: number, timeout: null): number;
  sendmmsg(socket: number, messages: Uint8Array, count: number, flags: number): number;
  poll(sockets: Uint8Array, count: number, milliseconds: number): number;
  eventfd(value: number, flags: number): number;
  write(file: number, bytes: Uint8Array, length: number): number;
  close(file: number): number;
  /** Where the bytes lie in memory. They must not move or be collected while the kernel knows the address. */
  addressOf(bytes: Uint8Array): bigint;
  /** The last error's number, and its name such as EPERM. */
  errno(): number;
  errorName(errno: number): string;
}

let loaded: Libc | undefined;

/** Loads libc through koffi. @throws Error on other systems than Linux, and where koffi has no binary */
export function libc(): Libc {
  loaded ??= load();
  return loaded;
}

function load(): Libc {
  if (process.platform !== "linux")
    throw new Error(`Linux interfaces need Linux; this is ${process.platform}`);
  // Loaded when the first interface is opened: everything else works where koffi has no binary.
  const koffi: typeof import("koffi") = createRequire(import.meta.url)("koffi");
  const lib = koffi.load("libc.so.6");
  const memset = lib.func("intptr_t memset(void *p, int c, size_t n)");
  const names = new Map(Object.entries(koffi.os.errno).map(([name, number]) => [number, name]));
  return {
    socket: lib.func("int socket(int, int, int)"),
    bind: lib.func("int bind(int, void *, uint32_t)"),
    setsockopt: lib.func("int setsockopt(int, int, int, void *, uint32_t)"),
    getsockopt: lib.func("int getsockopt(int, int, int, void *, void *)"),
    recvmmsg: lib.func("int recvmmsg(int, void *, uint32_t, int, void *)"),
    sendmmsg: lib.func("int sendmmsg(int, void *, uint32_t, int)"),
    poll: lib.func("int poll(void *, unsigned long, int)"),
    eventfd: lib.func("int eventfd(uint32_t, int)"),
    write: lib.func("intptr_t write(int, void *, size_t)"),
    close: lib.func("int close(int)"),
    addressOf: (bytes) => BigInt(memset(bytes, 0, 0) as Address),
    errno: () => koffi.errno(),
    errorName: (errno) => names.get(errno) ?? `errno ${errno}`,
  };
}

/** An interface's number and MTU. @throws Error when there is no such interface */
export function interfaceOf(name: string): { readonly index: number; readonly mtu: number } {
  // Interface names have at most 15 characters, without "/" and spaces.
  if (!/^[^\s/]{1,15}$/.test(name) || name === "." || name === "..")
    throw new Error(`"${name}" is no name of an interface`);
  const read = (file: string): number => Number(readFileSync(`/sys/class/net/${name}/${file}`, "latin1"));
  try {
    return { index: read("ifindex"), mtu: read("mtu") };
  } catch {
    throw new Error(`there is no interface ${name}; "ip link" lists them`);
  }
}
