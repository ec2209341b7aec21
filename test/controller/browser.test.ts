import { writeFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { Fleet } from "../../src/controller/fleet.ts";
import { WebPage } from "../../src/controller/webpage.ts";
import { aggregation as attacked } from "../abuse/network.ts";
import { type SteeredSwitch, startSwitch } from "../abuse/switches.ts";
import { BrowserPage, chromium } from "./chromium.ts";
import { aggregation, leafSpine, loadable, ROOM } from "./fabric.ts";
import { jobNetwork, serving, specOf, steer, working } from "./jobnetwork.ts";

const WAIT = { timeout: 60_000, interval: 100 };
/** Where pictures of the page go, to be looked at: a folder, or nowhere. */
const pictures = process.env.PAGE_PICTURES;

async function opened(fleet: Fleet, page: WebPage): Promise<BrowserPage> {
  onTestFinished(() => page.close());
  const browser = await BrowserPage.open(`http://127.0.0.1:${page.port}/`);
  await expect.poll(() => browser.text("#summary"), WAIT).toMatch(/\d of \d switches ready/);
  expect(fleet.status().length).toBeGreaterThan(0);
  return browser;
}

async function keep(browser: BrowserPage, name: string): Promise<void> {
  if (pictures !== undefined) writeFileSync(`${pictures}/${name}.png`, await browser.picture());
}

describe.skipIf(chromium === undefined)("the controller's page in Chromium", { timeout: 300_000 }, () => {
  test("draws the network with the states of switches and links as they are, drains for who has the token, and tells what happens", async () => {
    const plan = leafSpine(2, 2, 2);
    const switches = new Map<string, SteeredSwitch>();
    for (const { name, deviceId } of plan.switches) switches.set(name, await startSwitch(Number(deviceId)));
    const topology = leafSpine(2, 2, 2, (name) => switches.get(name)?.server.address ?? "");
    let page: WebPage | undefined;
    const fleet = await Fleet.start({
      topology,
      program: loadable(),
      aggregation,
      room: ROOM,
      onNotice: (notice) => page?.notice(notice),
    });
    onTestFinished(() => fleet.close());
    page = await WebPage.start({ fleet, topology, address: "127.0.0.1:0", token: "secret" });
    const browser = await opened(fleet, page);

    await expect.poll(() => browser.text("#summary"), WAIT).toMatch(/^4 of 4 switches ready/);
    const count = (selector: string) => browser.value(`document.querySelectorAll("${selector}").length`);
    expect(await count("svg g.switch.ready")).toBe(4);
    expect(await count("svg line")).toBe(4 + 4);
    expect(await count("svg circle.host")).toBe(4);
    expect(await browser.text("#jobs")).toBe("");
    expect(await browser.text("#nojobs")).toBe("No job runs.");
    const entries = await browser.value("document.querySelector('#switches tr td.number').textContent");
    expect(Number(entries)).toBeGreaterThan(0);

    const drain = "#switches tr:nth-child(3) button";
    expect(await browser.value(`document.querySelector("${drain}").disabled`)).toBe(true);
    await browser.type("#token", "wrong");
    await browser.click(drain);
    await expect.poll(() => browser.text("#answer"), WAIT).toBe("the token is missing or wrong");
    expect(fleet.drained).toEqual([]);
    await browser.value("document.querySelector('#token').value = ''");
    await browser.type("#token", "secret");
    await browser.click(drain);
    await expect.poll(() => browser.text("#answer"), WAIT).toBe("spine1: done");
    expect(fleet.drained).toEqual(["spine1"]);
    await expect.poll(() => browser.text(drain), WAIT).toBe("restore");
    expect(await count("svg g.switch.drained")).toBe(1);
    await expect.poll(() => browser.text("#log"), WAIT).toContain("spine1 is drained");

    switches.get("spine2")?.kill();
    await expect.poll(() => count("svg g.switch.lost"), WAIT).toBe(1);
    await expect.poll(() => browser.text("#log"), WAIT).toMatch(/spine2 is lost: /);
    await expect.poll(() => browser.text("#summary"), WAIT).toMatch(/^3 of 4 switches ready/);
    await keep(browser, "network");
    await browser.click(drain);
    await expect.poll(() => browser.text("#log"), WAIT).toContain("spine1 is restored");
    // 403, which was asked for; the browser logs it.
    expect(browser.errors.filter((error) => !error.includes("403"))).toEqual([]);
  });

  test("shows jobs, with the rounds that they make in a second, their slots and their hosts", async () => {
    const network = await jobNetwork(2);
    let page: WebPage | undefined;
    const { fleet, address } = await steer(network, {
      aggregation: attacked,
      onNotice: (notice) => page?.notice(notice),
    });
    page = await WebPage.start({ fleet, topology: network.topology, address: "127.0.0.1:0" });
    const browser = await opened(fleet, page);
    await expect.poll(() => browser.text("#summary"), WAIT).toMatch(/^2 of 2 switches ready/);
    let isOver = false;
    const gate = (): Promise<void> =>
      isOver ? new Promise(() => {}) : new Promise((resolve) => setTimeout(resolve, 20));
    await serving(network, [address], specOf(["w0", "w1"]));
    const work = ["w0", "w1"].map((host) => working(network, [address], host, 1e6, { gate }));
    for (const one of work) one.catch(() => {});
    onTestFinished(() => {
      isOver = true;
    });
    const cell = (n: number) => browser.text(`#jobs td:nth-child(${n})`);
    await expect.poll(() => cell(1), WAIT).toBe("training");
    await expect.poll(() => cell(2), WAIT).toBe("s1");
    expect(await cell(3)).toMatch(/^0 to 2 of 64$/);
    await expect.poll(async () => Number(await cell(6)), WAIT).toBeGreaterThan(0);
    await expect.poll(() => cell(7), WAIT).toMatch(/^ps w0 w1 $/);
    const metrics = await (await fetch(`http://127.0.0.1:${page.port}/metrics`)).text();
    expect(metrics).toMatch(/^gradplane_job_rounds_per_second\{job="training"\} [\d.]+$/m);
    expect(metrics).toContain('gradplane_job_slots{job="training"} 3\n');
    expect(metrics).toContain('gradplane_job_workers_present{job="training"} 2\n');
    await keep(browser, "jobs");
    expect(browser.errors).toEqual([]);
  });
});
