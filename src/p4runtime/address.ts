/** `[::1]:9559` and `localhost:9559` alike, for those who listen and those who connect. */
export function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const at = address.lastIndexOf(":");
  return { host: address.slice(0, at).replace(/^\[(.*)\]$/, "$1"), port: Number(address.slice(at + 1)) };
}

/** The address with the port that somebody got who asked for any. */
export function withPort(address: string, port: number): string {
  return address.replace(/:\d+$/, `:${port}`);
}
