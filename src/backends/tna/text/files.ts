import { controlHead, linesAbove } from "../../p4text/annotations.ts";
import { comment } from "../../p4text/comments.ts";
import { documented } from "../../p4text/declarations.ts";
import { expression } from "../../p4text/expressions.ts";
import {
  braces,
  concat,
  type Doc,
  group,
  INDENT,
  join,
  line,
  list,
  nest,
  render,
} from "../../p4text/layout.ts";
import { type PlacedFiles, withoutMarks } from "../../p4text/places.ts";
import { body, type FileMaker, programFiles } from "../../p4text/programfiles.ts";
import { loadTemplates, type Templates } from "../../p4text/templates.ts";
import { valueSetTexts, valueSetTypes } from "../../p4text/valuesets.ts";
import { type ContainerSize, containerSizes } from "../containersizes.ts";
import type { ChecksumText, Gress, TnaPipeline, TnaProgram } from "../lowered.ts";
import { resubmittedFields } from "../passes.ts";
import { type Chip, TOFINO_1 } from "../verify/figures.ts";
import { blockText, PARAMETERS, type Place, scopeOf } from "./blocks.ts";
import { actionTexts, declarations, headerTypeText, instanceTexts, members } from "./objects.ts";
import { parserStates } from "./parser.ts";

let templates: Templates | undefined;

/** The P4_16 files of a program for Tofino, by path within the target's folder. */
export function tnaFiles(program: TnaProgram): ReadonlyMap<string, string> {
  return placedTnaFiles(program).files;
}

/** The same, with the places of the user's program that their lines come from. */
export function placedTnaFiles(program: TnaProgram, chip: Chip = TOFINO_1): PlacedFiles {
  templates ??= loadTemplates("tna");
  return withoutMarks(
    programFiles(
      templates,
      program.source,
      program.controls,
      program.source.constants,
      (file) => partFiles(program, file),
      chip.arch,
    ),
  );
}

/** What stands below the main file and the constants. */
function partFiles(program: TnaProgram, file: FileMaker): ReadonlyMap<string, string> {
  const place = (gress: Gress): Place => ({ gress, names: { bridge: program.bridge?.header ?? "bridge" } });
  const files = new Map<string, string>();
  files.set(
    "headers.p4",
    file("headers.p4", "headers and metadata", {
      usesOrigin: program.bridge?.origin === true,
      usesClone: program.clone !== undefined,
      resubmits: program.resubmission !== undefined,
      recirculates: program.recirculates,
      digests: program.digests.map((d) => `const DigestType_t ${d.constant} = ${d.number};`),
      types: [
        ...program.headerTypes.map((t) => render(headerTypeText(t))),
        ...valueSetTypes(program.source, program.valueSetTypes).map((t) => render(t)),
        ...program.digests.map((d) =>
          render(
            documented(
              d.doc,
              concat(linesAbove(d.annotations), braces(`struct ${d.type}`, members(d.fields))),
              0,
            ),
          ),
        ),
      ],
      headers: render(
        braces(
          "struct headers_t",
          program.headers.map(
            (h) => `${h.type}${h.elements === undefined ? "" : `[${h.elements}]`} ${h.name};`,
          ),
        ),
      ),
      metadata: render(braces("struct metadata_t", members(program.metadata))),
    }),
  );
  files.set(
    "parser.p4",
    file("parser.p4", "parsers of ingress and egress", {
      checksums: program.ingressParser.checksums,
      valueSets: valueSetTexts(program.source, program.valueSetTypes),
      ingress: parserStates(program.ingressParser, place("ingress")).map((s) => render(s, INDENT)),
      egress: parserStates(program.egressParser, place("egress")).map((s) => render(s, INDENT)),
    }),
  );
  for (const control of program.controls)
    files.set(
      `controls/${control.name}.p4`,
      file("control.p4", `control ${control.name}`, {
        doc: controlHead(control),
        head: head(control.type, control.gress),
        declarations: declarations(control, place(control.gress)).map((d) => render(d, INDENT)),
        body: body(blockText(control.block, place(control.gress))),
      }),
    );
  const sizes = containerSizes(program);
  for (const pipeline of [program.ingress, program.egress])
    files.set(
      `${pipeline.gress}.p4`,
      file("control.p4", pipeline.gress, pipelineView(pipeline, sizes, place(pipeline.gress))),
    );
  files.set(
    "deparser.p4",
    file("deparser.p4", "deparsers of ingress and egress", deparserView(program, place)),
  );
  return files;
}

function pipelineView(
  pipeline: TnaPipeline,
  sizes: readonly ContainerSize[],
  place: Place,
): Readonly<Record<string, unknown>> {
  // On a struct they end the compiler now and then.
  const annotations = sizes
    .filter((c) => c.gress === pipeline.gress)
    .map((c) => `@pa_container_size("${c.gress}", "${c.place}", ${c.bits})`);
  const control = head(pipeline.gress === "ingress" ? "SwitchIngress" : "SwitchEgress", pipeline.gress);
  return {
    doc: "",
    head: [...annotations, control].join("\n"),
    declarations: [...instanceTexts(pipeline), ...actionTexts(pipeline.actions, place)].map((d) =>
      render(d, INDENT),
    ),
    body: body(blockText(pipeline.block, place)),
  };
}

function head(type: string, gress: Gress): string {
  const start = `control ${type}(`;
  return `${start}${PARAMETERS[gress].map((p) => `${p.type} ${p.name}`).join(`,\n${" ".repeat(start.length)}`)}) {`;
}

function deparserView(
  program: TnaProgram,
  place: (gress: Gress) => Place,
): Readonly<Record<string, unknown>> {
  const { bridge, clone } = program;
  const emits = (headers: readonly string[]): readonly Doc[] => headers.map((h) => `packet.emit(hdr.${h});`);
  const ingress: Doc[] = program.ingressChecksums.map((c) => checksum(c, place("ingress")));
  if (clone !== undefined && bridge !== undefined) {
    const fields = [
      `meta.${clone.origin}`,
      ...(bridge.ingressPort ? [`hdr.${bridge.header}.ingress_port`, "0"] : []),
      // A clone starts with clear metadata.
      ...program.headerTypes
        .filter((t) => t.name === bridge.type)
        .flatMap((t) => t.fields.slice(1 + (bridge.ingressPort ? 2 : 0)).map(() => "0")),
    ];
    ingress.push(
      braces("if (ig_dprsr_md.mirror_type == MIRROR_CLONE)", [
        group(
          `mirror.emit<${bridge.type}>(`,
          nest(
            { kind: "line", flat: "", hard: false },
            `meta.${clone.session},`,
            line,
            list("{", fields, "}"),
          ),
          { kind: "line", flat: "", hard: false },
          ");",
        ),
      ]),
    );
  }
  if (program.resubmission !== undefined) {
    const { type } = program.resubmission;
    const values = resubmittedFields(program.resubmission).map(({ source: m }) =>
      m === undefined ? "0" : m.kind === "metadata" ? `meta.${m.name}` : `hdr.${m.header}.${m.field}`,
    );
    ingress.push(
      braces("if (ig_dprsr_md.resubmit_type == RESUBMIT)", [
        concat(list(`resubmit.emit<${type}>({`, values, "});")),
      ]),
    );
  }
  for (const d of program.digests)
    ingress.push(
      braces(`if (ig_dprsr_md.digest_type == ${d.constant})`, [
        concat(
          list(
            `${d.local}.pack({`,
            d.values.map((name) => `meta.${name}`),
            "});",
          ),
        ),
      ]),
    );
  const cut = clone?.cut;
  return {
    digests: program.digests.map((d) => `Digest<${d.type}>(${d.constant}) ${d.local};`),
    ingressChecksums: program.ingressChecksums.map((c) => c.instance),
    egressChecksums: program.egressChecksums.map((c) => c.instance),
    mirror: clone !== undefined,
    resubmits: program.resubmission !== undefined,
    ...(cut === undefined
      ? { cut: "" }
      : {
          cut: render(
            comment(
              `A mirror session for clones must have max_pkt_len ${cut.bytes}: it cuts off ${cut.header}, which the egress parser ` +
                `does not read. The length counts the ${bridge?.bytes ?? 0} bytes of the bridge header.`,
              INDENT,
            ),
            INDENT,
          ),
        }),
    ingress: body([
      ...ingress,
      ...emits([...(bridge === undefined ? [] : [bridge.header]), ...program.ingressDeparser]),
    ]),
    egress: body([
      ...program.egressChecksums.map((c) => checksum(c, place("egress"))),
      ...emits(program.egressDeparser),
    ]),
  };
}

function checksum(c: ChecksumText, place: Place): Doc {
  const fields = c.fields.map((f) => expression(f, scopeOf(place), true));
  const update = concat(
    `hdr.${c.target.header}.${c.target.field} = ${c.instance}.update(`,
    group("{", nest(line, join(concat(",", line), fields)), line, "}"),
    c.isGiven === undefined ? ");" : ", true);",
  );
  return c.isGiven === undefined ? update : braces(`if (meta.${c.isGiven} == 1)`, [update]);
}
