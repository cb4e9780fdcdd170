import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { parseSync } from "vite";

// biome-ignore lint/suspicious/noExplicitAny: a syntax tree has as many shapes as the language.
export type Node = any;
export type SourceFile = { path: string; program: Node; imports: Map<string, [string, string]> };

/** Where a value comes from: an expression of the source, or a parameter set by callers. */
export type Origin = { node: Node; file: SourceFile } | { parameter: Parameter };
export type Parameter = { owner: Node; index: number; file: SourceFile };

const PARENTS = new WeakMap<object, Node>();
const DEPTH_MAX = 12;

export function readSourceFile(root: string, path: string): SourceFile {
  const { program, errors } = parseSync(path, readFileSync(join(root, path), "utf8"));
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]!.message}`);
  visit(program, () => {});
  return { path, program, imports: importsOf(path, program) };
}

/** Visits every node below this one and records each one's parent. */
export function visit(node: Node, see: (node: Node) => void): void {
  see(node);
  for (const value of Object.values<Node>(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type !== "string") continue;
      PARENTS.set(child, node);
      visit(child, see);
    }
  }
}

function importsOf(path: string, program: Node): Map<string, [string, string]> {
  const imports = program.body
    .filter((node: Node) => node.type === "ImportDeclaration" && node.source.value.startsWith("."))
    .flatMap(({ source, specifiers }: Node) =>
      specifiers
        .filter(({ imported }: Node) => imported)
        .map(({ local, imported }: Node) => [
          local.name,
          [posix.join(posix.dirname(path), source.value), imported.name],
        ]),
    );
  return new Map(imports);
}

/** Follows values through constants, conditions, tables, tuples and the functions that return them. */
export class Flow {
  readonly files: ReadonlyMap<string, SourceFile>;

  constructor(files: readonly SourceFile[]) {
    this.files = new Map(files.map((file) => [file.path, file]));
  }

  originsOf(node: Node, file: SourceFile, depth = 0): Origin[] {
    if (!node || depth > DEPTH_MAX) return [];
    const follow = (next: Node, where = file) => this.originsOf(next, where, depth + 1);
    switch (node.type) {
      case "ParenthesizedExpression":
      case "TSAsExpression":
      case "TSSatisfiesExpression":
      case "TSNonNullExpression":
      case "ChainExpression":
        return follow(node.expression);
      case "AwaitExpression":
        return follow(node.argument);
      case "ConditionalExpression":
        return [...follow(node.consequent), ...follow(node.alternate)];
      case "LogicalExpression":
        return node.operator === "&&"
          ? follow(node.right)
          : [...follow(node.left), ...follow(node.right)];
      case "Identifier":
        return this.#originsOfName(node, file, depth + 1);
      case "MemberExpression":
        return this.#originsOfMember(node, file, depth + 1);
      case "CallExpression":
        return this.#originsOfCall(node, file, depth + 1);
      default:
        return [{ node, file }];
    }
  }

  /** The declaration of the function, class or variable with this name, in any file. */
  findDeclaration(
    name: string,
    from: Node,
    file: SourceFile,
  ): { node: Node; file: SourceFile } | null {
    for (let scope = from; scope; scope = PARENTS.get(scope)) {
      const node = declaredIn(scope, name);
      if (node) return { node, file };
    }
    const [path, imported] = file.imports.get(name) ?? [];
    const source = path ? this.files.get(path) : undefined;
    return source ? this.findDeclaration(imported!, source.program, source) : null;
  }

  /** The pair behind `pair[0]` and `pair[1]`, or behind `const [code, message] = pair`. */
  pairOf(first: Node, second: Node, file: SourceFile): { node: Node; file: SourceFile } | null {
    const is_indexed = first.computed && second.computed && first.object.name;
    if (is_indexed && first.object.name === second.object.name) return { node: first.object, file };
    if (first.type !== "Identifier" || second.type !== "Identifier") return null;
    const [one, other] = [first, second].map((name) => this.findDeclaration(name.name, name, file));
    const is_one = one && one.node === other?.node && one.node.id?.type === "ArrayPattern";
    return is_one ? { node: one.node.init, file: one.file } : null;
  }

  #originsOfName(node: Node, file: SourceFile, depth: number): Origin[] {
    const found = this.findDeclaration(node.name, node, file);
    if (!found) return [];
    const { node: declared, file: where } = found;
    if (declared.type === "parameter") {
      const { owner, index } = declared;
      return [
        { parameter: { owner, index, file: where } },
        ...this.originsOf(declared.fallback, where, depth),
      ];
    }
    if (declared.type !== "VariableDeclarator") return [];
    if (declared.id.type === "Identifier") return this.originsOf(declared.init, where, depth);
    if (declared.id.type !== "ArrayPattern") return [];
    const index = declared.id.elements.findIndex((element: Node) => element?.name === node.name);
    return this.#elementsOf(declared.init, index, where, depth);
  }

  #originsOfMember(node: Node, file: SourceFile, depth: number): Origin[] {
    const { object, property, computed } = node;
    if (computed && property.type === "Literal" && typeof property.value === "number") {
      return this.#elementsOf(object, property.value, file, depth);
    }
    return this.originsOf(object, file, depth).flatMap((origin) => {
      if (!("node" in origin) || origin.node.type !== "ObjectExpression") return [];
      const named = origin.node.properties.filter(
        ({ key }: Node) => key && (computed || (key.name ?? key.value) === property.name),
      );
      return named.flatMap(({ value }: Node) => this.originsOf(value, origin.file, depth));
    });
  }

  #elementsOf(node: Node, index: number, file: SourceFile, depth: number): Origin[] {
    return this.originsOf(node, file, depth).flatMap((origin) => {
      if (!("node" in origin) || origin.node.type !== "ArrayExpression") return [];
      return this.originsOf(origin.node.elements[index], origin.file, depth);
    });
  }

  #originsOfCall(node: Node, file: SourceFile, depth: number): Origin[] {
    if (node.callee.type !== "Identifier") return [];
    const found = this.findDeclaration(node.callee.name, node, file);
    const body = found && functionOf(found.node);
    if (!body) return [];
    return returnsOf(body).flatMap((value) => this.originsOf(value, found.file, depth));
  }
}

/** The function that a declaration declares, if any. */
export function functionOf(declared: Node): Node | null {
  if (declared.type === "FunctionDeclaration") return declared;
  const init = declared.type === "VariableDeclarator" ? declared.init : null;
  return isFunction(init) ? init : null;
}

/** The name of a function. */
export function functionName(owner: Node): string {
  return owner.id?.name ?? PARENTS.get(owner)?.id?.name ?? "";
}

export function isFunction(node: Node): boolean {
  return /Function(Declaration|Expression)$/.test(node?.type ?? "");
}

function returnsOf(owner: Node): Node[] {
  if (owner.body.type !== "BlockStatement") return [owner.body];
  const found: Node[] = [];
  visit(owner.body, (node) => {
    if (node.type !== "ReturnStatement" || !node.argument) return;
    for (let up = PARENTS.get(node); up !== owner; up = PARENTS.get(up)) {
      if (isFunction(up)) return;
    }
    found.push(node.argument);
  });
  return found;
}

function declaredIn(scope: Node, name: string): Node | null {
  if (isFunction(scope)) return parameterOf(scope, name);
  if (scope.type !== "BlockStatement" && scope.type !== "Program") return null;
  for (const statement of scope.body) {
    const node = statement.declaration ?? statement;
    if (node.type === "FunctionDeclaration" && node.id?.name === name) return node;
    if (node.type !== "VariableDeclaration") continue;
    const declared = node.declarations.find(({ id }: Node) => bindsName(id, name));
    if (declared) return declared;
  }
  return null;
}

function bindsName(pattern: Node, name: string): boolean {
  if (pattern.type === "ArrayPattern")
    return pattern.elements.some((one: Node) => one?.name === name);
  return pattern.name === name;
}

function parameterOf(owner: Node, name: string): Node | null {
  const index = owner.params.findIndex((one: Node) => (one.left ?? one).name === name);
  if (index < 0) return null;
  return { type: "parameter", owner, index, fallback: owner.params[index].right };
}
