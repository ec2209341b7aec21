import { comment, sentence } from "../../p4text/comments.ts";
import { constantTexts } from "../../p4text/constants.ts";
import { type Doc, INDENT, lines, render } from "../../p4text/layout.ts";
import { loadTemplates, type Templates } from "../../p4text/templates.ts";
import { version } from "../../version.ts";
import { INGRESS_CLONE } from "../intrinsics.ts";
import type { LoweredBlock, LoweredControl, LoweredPipeline, LoweredProgram } from "../lowered.ts";
import { blockText } from "./blocks.ts";
import { checksumTexts } from "./checksums.ts";
import { headersStruct, headerTypeTexts, metadataStruct } from "./headers.ts";
import { declarations, instanceTexts } from "./objects.ts";
import { errorsText, parserStates } from "./parser.ts";

let templates: Templates | undefined;

/** The P4_16 files of a program, by path within the target's folder. */
export function p4Files(program: LoweredProgram): ReadonlyMap<string, string> {
  templates ??= loadTemplates("v1model");
  const fill = templates;
  const name = program.source.name;
  const file: FileMaker = (template, part, view) =>
    tidy(fill(template, { program: name, version, part, ...view }));

  const parts = partFiles(program, file);
  const constants = constantTexts([...program.source.constants, INGRESS_CLONE], parts);
  const files = new Map<string, string>();
  files.set(
    `${name}.p4`,
    file("main.p4", "the package", {
      doc: program.source.doc === undefined ? "" : render(comment(sentence(program.source.doc), 0)),
      includes: [
        ...(constants.length > 0 ? ["constants.p4"] : []),
        "headers.p4",
        "parser.p4",
        "checksums.p4",
        ...applicationOrder(program.controls).map((c) => `controls/${c.name}.p4`),
        "ingress.p4",
        "egress.p4",
        "deparser.p4",
      ],
    }),
  );
  if (constants.length > 0)
    files.set("constants.p4", file("constants.p4", "constants", { groups: constants.map((k) => render(k)) }));
  return new Map([...files, ...parts]);
}

type FileMaker = (template: string, part: string, view: Readonly<Record<string, unknown>>) => string;

/** What stands below the main file and the constants. */
function partFiles(program: LoweredProgram, file: FileMaker): ReadonlyMap<string, string> {
  const controls = program.controls.map((c) => [`controls/${c.name}.p4`, c] as const);
  const files = new Map<string, string>();
  files.set(
    "headers.p4",
    file("headers.p4", "headers and metadata", {
      errors: errorsText(program.source),
      types: headerTypeTexts(program).map((t) => render(t)),
      headers: render(headersStruct(program)),
      metadata: render(metadataStruct(program)),
    }),
  );
  files.set(
    "parser.p4",
    file("parser.p4", "parser", { states: parserStates(program).map((s) => render(s, INDENT)) }),
  );
  files.set(
    "checksums.p4",
    file("checksums.p4", "checksums", {
      verify: body(checksumTexts(program.checksums.calls, "verify")),
      update: body(checksumTexts(program.checksums.calls, "update")),
    }),
  );
  for (const [path, control] of controls) {
    files.set(
      path,
      file("control.p4", `control ${control.name}`, {
        doc: control.doc === undefined ? "" : render(comment(sentence(control.doc), 0)),
        type: control.type,
        pad: " ".repeat(`control ${control.type}(`.length),
        declarations: declarations(control).map((d) => render(d, INDENT)),
        body: blockBody(control.block, control.gress),
      }),
    );
  }
  files.set("ingress.p4", file("ingress.p4", "ingress", pipelineView(program.ingress)));
  files.set("egress.p4", file("egress.p4", "egress", pipelineView(program.egress)));
  files.set(
    "deparser.p4",
    file("deparser.p4", "deparser", {
      body: body(program.source.deparser.map((h) => `packet.emit(hdr.${h});`)),
    }),
  );
  return files;
}

/** A control is declared before the controls that contain an instance of it. */
function applicationOrder(controls: readonly LoweredControl[]): readonly LoweredControl[] {
  const done = new Set<string>();
  const out: LoweredControl[] = [];
  const visit = (c: LoweredControl): void => {
    if (done.has(c.name)) return;
    done.add(c.name);
    for (const i of c.instances) {
      const inner = controls.find((other) => other.name === i.control);
      if (inner !== undefined) visit(inner);
    }
    out.push(c);
  };
  for (const c of controls) visit(c);
  return out;
}

function pipelineView(pipeline: LoweredPipeline): Readonly<Record<string, unknown>> {
  return {
    declarations: instanceTexts(pipeline.instances).map((d) => render(d, INDENT)),
    body: blockBody(pipeline.block, pipeline.gress),
  };
}

function blockBody(block: LoweredBlock, gress: "ingress" | "egress"): string {
  return body(blockText(block, gress));
}

function body(statements: readonly Doc[]): string {
  return statements.length === 0 ? "" : render(lines(statements), 2 * INDENT);
}

/** Exactly one line end at the end of the file. */
function tidy(text: string): string {
  return `${text.trimEnd()}\n`;
}
