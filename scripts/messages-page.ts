import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ERROR_CODES, ERRORS, type ErrorCode } from "../src/platform/errors.ts";
import {
  Flow,
  functionName,
  functionOf,
  isFunction,
  type Node,
  type Origin,
  type Parameter,
  readSourceFile,
  type SourceFile,
  visit,
} from "./message-flow.ts";

const ROOT = join(import.meta.dirname, "..");
/** The command line and the documentation answer no requests. */
const LEFT_OUT = /^src\/(cli|docs)\//;
/** The methods of the collector; the code is used when it is not among the arguments. */
const COLLECTOR = new Map<string, ErrorCode | null>([
  ["report", null],
  ["missing", "parameter_missing"],
  ["invalid", "record_invalid"],
]);

export type Message = { code: ErrorCode | null; text: string };
type Sink = { message: Node; code: Node | ErrorCode | null; file: SourceFile };

/** Every message that a response can contain, from the source, with `{names}` for values. */
export function messagesPage(): string[] {
  const messages = collectMessages();
  const sections = [...ERROR_CODES, null].flatMap((code) => {
    const texts = messages.filter((message) => message.code === code).map(({ text }) => text);
    if (texts.length === 0) return [];
    const heading = code === null ? "Other messages" : `\`${code}\``;
    return [`## ${heading}`, texts.map((text) => `- ${plain(text)}`).join("\n")];
  });
  return [
    "Every message that an error answer can carry, by its code. `{name}` stands for what is filled " +
      "in. Where a whole request is refused for several reasons, `message` is the first one of its " +
      "code and `errors` holds one message for each field. [Errors](errors.md) says what each code " +
      "means. Do not parse messages: they can change at any time, codes do not.",
    ...sections,
  ];
}

/** Escapes Markdown characters. */
function plain(text: string): string {
  return text.replace(/[\\`*[\]<>]/g, "\\$&");
}

export function collectMessages(): Message[] {
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .map((name) => `src/${name}`)
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts") && !LEFT_OUT.test(path))
    .sort()
    .map((path) => readSourceFile(ROOT, path));
  const flow = new Flow(files);
  const found = new Map<string, Message>();
  const add = (code: ErrorCode | null, text: string) =>
    found.set(`${code} ${text}`, { code, text });
  for (const code of ERROR_CODES) add(code, ERRORS[code][1]);

  const calls = Map.groupBy(files.flatMap(listCalls), ({ node }) => node.callee.name as string);
  const queue = files
    .flatMap((file) => sinksOf(flow, file))
    .flatMap((sink) => splitPairs(flow, sink));
  const seen = new Set<string>();
  for (let sink = queue.pop(); sink; sink = queue.pop()) {
    const codes = codesOf(flow, sink);
    for (const origin of flow.originsOf(sink.message, sink.file)) {
      if ("parameter" in origin) {
        queue.push(...callsOf(flow, calls, origin.parameter, sink, seen));
        continue;
      }
      const text = textOf(flow, origin.node, origin.file);
      if (text !== null) for (const code of codes) add(code, text);
    }
  }
  return [...found.values()].sort((one, other) => (one.text < other.text ? -1 : 1));
}

/** Where a message is passed: to a refusal, to the collector, or in a problem. */
function sinksOf(flow: Flow, file: SourceFile): Sink[] {
  const sinks: Sink[] = [];
  const add = (message: Node, code: Sink["code"]) => {
    if (message) sinks.push({ message, code, file });
  };
  /** Code and message are adjacent arguments, in either order. */
  const addReport = (given: Node[]) => {
    const code_at = given.findIndex(
      (node) => node.name === "code" || knownCodes(flow, node, file).length > 0,
    );
    if (code_at < 0) add(given.at(-1), null);
    else add(given[code_at + 1] ?? given[code_at - 1], given[code_at]);
  };
  visit(file.program, (node) => {
    if (node.type === "NewExpression" && node.callee.name === "Refusal") {
      add(node.arguments[1], node.arguments[0]);
    }
    if (node.type === "CallExpression") {
      const code = COLLECTOR.get(node.callee.property?.name ?? node.callee.name);
      if (code) add(node.arguments[1], code);
      if (code === null) addReport(node.arguments);
    }
    if (node.type === "ObjectExpression") {
      const { field, code, message } = propertiesOf(node);
      if (field && code && message) add(message, code);
    }
  });
  return sinks;
}

function propertiesOf(node: Node): Record<string, Node> {
  const named = node.properties.filter(({ key }: Node) => key);
  return Object.fromEntries(named.map(({ key, value }: Node) => [key.name ?? key.value, value]));
}

/** `null` where the code cannot be determined here. */
function codesOf(flow: Flow, { code, file }: Sink): (ErrorCode | null)[] {
  if (code === null || typeof code === "string") return [code];
  const known = knownCodes(flow, code, file);
  return known.length > 0 ? [...new Set(known)] : [null];
}

function knownCodes(flow: Flow, node: Node, file: SourceFile): ErrorCode[] {
  return flow
    .originsOf(node, file)
    .map((origin: Origin) => ("node" in origin ? origin.node.value : null))
    .filter((value) => Object.hasOwn(ERRORS, value ?? ""));
}

type Call = { node: Node; file: SourceFile };

function listCalls(file: SourceFile): Call[] {
  const calls: Call[] = [];
  visit(file.program, (node) => {
    const is_named = node.type === "CallExpression" && node.callee.type === "Identifier";
    if (is_named) calls.push({ node, file });
  });
  return calls;
}

/** The calls that set a parameter, each a place where a message is passed. */
function callsOf(
  flow: Flow,
  calls: ReadonlyMap<string, readonly Call[]>,
  to: Parameter,
  sink: Sink,
  seen: Set<string>,
): Sink[] {
  const codes = codesOf(flow, sink);
  const key = [to.file.path, to.owner.start, to.index, ...codes].join(" ");
  if (seen.has(key)) return [];
  seen.add(key);
  // The same call may set the code.
  const code_at = parameterAt(flow, sink, to.owner);
  return (calls.get(functionName(to.owner)) ?? [])
    .filter(({ node, file }) => node.arguments[to.index] && isCallOf(flow, node, file, to.owner))
    .map(({ node, file }) => ({
      message: node.arguments[to.index],
      code: code_at < 0 ? codes[0]! : node.arguments[code_at],
      file,
    }))
    .flatMap((given) => splitPairs(flow, given));
}

/** Keeps code and message together that come from one pair `[code, message]`. */
function splitPairs(flow: Flow, sink: Sink): Sink[] {
  const { message, code, file } = sink;
  const pair = typeof code === "object" && code ? flow.pairOf(code, message, file) : null;
  if (!pair) return [sink];
  return flow.originsOf(pair.node, pair.file).flatMap((origin) => {
    if (!("node" in origin) || origin.node.type !== "ArrayExpression") return [];
    const [first, second] = origin.node.elements;
    return [{ code: first, message: second, file: origin.file }];
  });
}

function parameterAt(flow: Flow, { code, file }: Sink, owner: Node): number {
  if (code === null || typeof code === "string") return -1;
  const origin = flow
    .originsOf(code, file)
    .find((one) => "parameter" in one && one.parameter.owner === owner);
  return origin && "parameter" in origin ? origin.parameter.index : -1;
}

function isCallOf(flow: Flow, call: Node, file: SourceFile, owner: Node): boolean {
  if (call.callee.type !== "Identifier") return false;
  const found = flow.findDeclaration(call.callee.name, call, file);
  return found !== null && functionOf(found.node) === owner && isFunction(owner);
}

/** The text as shown to users; null when it is not text. */
function textOf(flow: Flow, node: Node, file: SourceFile): string | null {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : null;
  if (node.type === "BinaryExpression" && node.operator === "+") {
    return partOf(flow, node.left, file) + partOf(flow, node.right, file);
  }
  if (node.type !== "TemplateLiteral") return null;
  return node.quasis
    .map(({ value }: Node, index: number) => {
      const filled = node.expressions[index];
      return value.cooked + (filled ? partOf(flow, filled, file) : "");
    })
    .join("");
}

/** The value of a constant; anything else by its name. */
function partOf(flow: Flow, node: Node, file: SourceFile): string {
  const own = textOf(flow, node, file);
  if (own !== null) return own;
  const is_constant = /^[A-Z][A-Z\d_]*$/.test(node.name ?? "");
  const [only, ...others] = is_constant ? flow.originsOf(node, file) : [];
  if (only && "node" in only && others.length === 0) {
    const text = textOf(flow, only.node, only.file);
    if (text !== null || only.node.type === "Literal") return text ?? `${only.node.value}`;
  }
  return `{${nameOf(node).toLowerCase()}}`;
}

function nameOf(node: Node): string {
  switch (node.type) {
    case "Identifier":
      return node.name;
    case "MemberExpression":
      return node.computed ? nameOf(node.object) : nameOf(node.property);
    case "CallExpression":
      if (node.callee.type !== "MemberExpression") return nameOf(node.arguments[0] ?? node.callee);
      return nameOf(node.callee.object.name === "Object" ? node.arguments[0] : node.callee.object);
    default:
      return nameOf(
        node.expression ?? node.left ?? node.argument ?? { type: "Identifier", name: "value" },
      );
  }
}
