/** Connects to the address in the arguments, does what the second argument says, closes, and must end by itself. */

import { P4RuntimeError } from "../../../src/p4runtime/call-error.ts";
import { P4RuntimeClient } from "../../../src/p4runtime/client.ts";

const [address = "", what = ""] = process.argv.slice(2);

try {
  const client = await P4RuntimeClient.connect({ address, timeout: 3000 });
  await client.arbitrate(7n);
  if (what === "leave the stream without a listener") {
    // The server goes away; nobody listens.
    console.log("connected");
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  const waiting = client.packets().next();
  await client.close();
  await client.close();
  await waiting;
  console.log("closed");
} catch (error) {
  if (!(error instanceof P4RuntimeError)) throw error;
  console.log(error.message);
  process.exitCode = 1;
}
