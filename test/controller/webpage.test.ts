import { describe, expect, onTestFinished, test } from "vitest";
import { Fleet } from "../../src/controller/fleet.ts";
import { WebPage } from "../../src/controller/webpage.ts";
import { leafSpine, loadable, ROOM } from "./fabric.ts";

/** A page of a fleet whose switches are not there. */
async function page(): Promise<{
  readonly at: (path: string) => string;
  readonly page: WebPage;
  readonly fleet: Fleet;
}> {
  const topology = leafSpine(2, 1, 1);
  let web: WebPage | undefined;
  const fleet = await Fleet.start({
    topology,
    program: loadable(),
    room: ROOM,
    onNotice: (n) => web?.notice(n),
  });
  onTestFinished(() => fleet.close());
  const started = await WebPage.start({ fleet, topology, address: "127.0.0.1:0" });
  web = started;
  onTestFinished(() => started.close());
  return { at: (path) => `http://127.0.0.1:${started.port}${path}`, page: started, fleet };
}

describe("the controller's web page", { timeout: 60_000 }, () => {
  test("shows switches and links, and figures for Prometheus", async () => {
    const { at } = await page();
    expect(await (await fetch(at("/"))).text()).toContain("<title>gradplane controller</title>");
    expect(await (await fetch(at("/status"))).json()).toMatchObject({
      switches: [{ name: "leaf1" }, { name: "leaf2" }, { name: "spine1" }],
      links: [{ name: "leaf1:1 - spine1:0" }, { name: "leaf2:1 - spine1:1" }],
    });
    const metrics = await (await fetch(at("/metrics"))).text();
    expect(metrics).toContain('gradplane_switch_ready{switch="leaf1"} 0\n');
    expect(metrics).toMatch(
      /^(# (HELP|TYPE) gradplane_\w+ .+\n|gradplane_\w+\{(switch|link|job)="[^"\n]+"\} [\d.]+\n)+$/,
    );
    expect((await fetch(at("/nothing"))).status).toBe(404);
  });

  test("drains and restores for who has the token, and nobody else", async () => {
    const { at, page: web, fleet } = await page();
    const post = (path: string, token?: string) =>
      fetch(at(path), {
        method: "POST",
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
    expect((await post("/drain/spine1")).status).toBe(403);
    expect((await post("/drain/spine1", "guess")).status).toBe(403);
    expect(fleet.drained).toEqual([]);
    expect((await post("/drain/spine1", web.token)).status).toBe(200);
    expect(fleet.drained).toEqual(["spine1"]);
    expect((await post("/drain/spine9", web.token)).status).toBe(400);
    expect((await post("/restore/spine1", web.token)).status).toBe(200);
    expect(fleet.drained).toEqual([]);
  });

  test("sends what happens as it happens, and what has happened to who comes later", async () => {
    const { at, page: web } = await page();
    const response = await fetch(at("/events"));
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    web.notice({ kind: "drained", name: "spine1" });
    const reader = response.body?.getReader() ?? expect.fail();
    let text = "";
    while (!text.includes('"kind":"drained","name":"spine1"}'))
      text += new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
    const later = await fetch(at("/events"));
    const again = later.body?.getReader() ?? expect.fail();
    text = "";
    while (!text.includes("drained")) text += new TextDecoder().decode((await again.read()).value);
    await again.cancel();
  });
});
