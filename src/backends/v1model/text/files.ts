import { controlHead } from "../../p4text/annotations.ts";
import { INDENT, render } from "../../p4text/layout.ts";
import { type PlacedFiles, withoutMarks } from "../../p4text/places.ts";
import { body, type FileMaker, programFiles } from "../../p4text/programfiles.ts";
import { loadTemplates, type Templates } from "../../p4text/templates.ts";
import { valueSetTexts } from "../../p4text/valuesets.ts";
import { INGRESS_CLONE, RECIRCULATED, RESUBMITTED } from "../intrinsics.ts";
import type { LoweredBlock, LoweredPipeline, LoweredProgram } from "../lowered.ts";
import { blockText } from "./blocks.ts";
import { checksumTexts } from "./checksums.ts";
import { headersStruct, headerTypeTexts, metadataStruct } from "./headers.ts";
import { declarations, instanceTexts } from "./objects.ts";
import { errorsText, parserStates } from "./parser.ts";

let templates: Templates | undefined;

/** The P4_16 files of a program, by path within the target's folder. */
export function p4Files(program: LoweredProgram): ReadonlyMap<string, string> {
  return placedP4Files(program).files;
}

/** The same, with the places of the user's program that their lines come from. */
export function placedP4Files(program: LoweredProgram): PlacedFiles {
  templates ??= loadTemplates("v1model");
  return withoutMarks(
    programFiles(
      templates,
      program.source,
      program.controls,
      [...program.source.constants, INGRESS_CLONE, RESUBMITTED, RECIRCULATED],
      (file) => partFiles(program, file),
    ),
  );
}

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
    file("parser.p4", "parser", {
      valueSets: valueSetTexts(program.source, program.valueSetTypes),
      states: parserStates(program).map((s) => render(s, INDENT)),
    }),
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
        doc: controlHead(control),
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

function pipelineView(pipeline: LoweredPipeline): Readonly<Record<string, unknown>> {
  return {
    declarations: instanceTexts(pipeline.instances).map((d) => render(d, INDENT)),
    body: blockBody(pipeline.block, pipeline.gress),
  };
}

function blockBody(block: LoweredBlock, gress: "ingress" | "egress"): string {
  return body(blockText(block, gress));
}
