import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import {
  importsOf,
  lineOf,
  listFiles,
  nodesOf,
  type SourceFile,
  type SyntaxNode,
  syntaxOf,
  textsIn,
  walk,
} from "./harness/source-files.ts";

/** A module imports only from itself and from modules to its left. */
const MODULES = [
  ...["platform", "catalogue", "partners", "accounts", "approvals", "ledger", "events", "apps"],
  ...["webhooks", "users", "kyc", "payment-details", "screening", "prices", "limits"],
  ...["travel", "balances", "invoices", "offramps", "onramps", "reconcile", "retention"],
  ...["reports", "verify", "backup"],
  ...["sandbox", "dashboard", "docs", "app", "cli"],
];

const FOLDER_FILES_MAX = 25;
const FILE_LINES_MAX = 350;
const FUNCTION_LINES_MAX = 80;
const COLUMNS_MAX = 100;

/** Small tables that lead from a secret or an address to its account, which is not yet known. */
const GLOBAL_LOOKUPS = [
  ...["api_key_hashes", "app_ids", "deposit_addresses", "deposit_codes", "invoice_links"],
  ...["invoice_request_ids", "invoice_transfers", "kyc_tokens", "oauth_artifacts", "sessions"],
];

const files = listFiles();
const source = files.filter(({ path }) => path.startsWith("src/") && path.endsWith(".ts"));
const tests = files.filter(({ path }) => path.startsWith("test/") && path.endsWith(".ts"));
/** The code that the rules of size hold for. */
const sized = files.filter(({ path }) =>
  /^(src|dashboard\/src|test\/harness)\/.*\.tsx?$/.test(path),
);
const migrations = files.filter(({ path }) => path.startsWith("migrations/"));

it("these rules have something to look at", () => {
  // A rule over an empty list would hold for anything.
  expect(source.length).toBeGreaterThan(300);
  expect(tests.length).toBeGreaterThan(200);
  expect(migrations.length).toBeGreaterThan(20);
  expect(source.flatMap(importsOf).length).toBeGreaterThan(1_000);
  expect(source.flatMap(functionsIn).length).toBeGreaterThan(1_000);
  const stores = source.filter(({ path }) => path.endsWith("store.ts"));
  const statements = stores.flatMap((file) => textsIn(nodesOf(file)));
  expect(statements.filter((text) => STATEMENT.test(text)).length).toBeGreaterThan(100);
});

describe("the arrows", () => {
  it("every file of src stands in a module of the list", () => {
    const homeless = source.filter(({ path }) => !MODULES.includes(moduleOf(path)));
    expect(homeless.map((file) => file.path)).toEqual([]);
  });

  it("a module imports only from modules to its left", () => {
    const wrong = source.flatMap((file) =>
      importsOf(file)
        .filter((target) => !mayImport(file.path, target))
        .map((target) => `${file.path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("no file imports itself, be it by a detour", () => {
    expect(findCycle(new Map(source.map((file) => [file.path, importsOf(file)])))).toBeNull();
  });
});

describe("size", () => {
  it(`a folder with more than ${FOLDER_FILES_MAX} files has sub-folders`, () => {
    const folders = Map.groupBy(source, ({ path }) => dirname(path));
    const large = [...folders].filter(([, inside]) => inside.length > FOLDER_FILES_MAX);
    const flat = large.filter(([folder]) => ![...folders.keys()].some(isInside(folder)));
    expect(flat.map(([folder, inside]) => `${folder}: ${inside.length} files`)).toEqual([]);
  });

  it(`files have at most ${FILE_LINES_MAX} lines`, () => {
    const long = sized.filter((file) => file.lines.length - 1 > FILE_LINES_MAX);
    expect(long.map((file) => `${file.path}: ${file.lines.length - 1}`)).toEqual([]);
  });

  it(`functions have at most ${FUNCTION_LINES_MAX} lines`, () => {
    const long = sized.flatMap((file) =>
      functionsIn(file)
        .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
        .map(({ first_line, lines }) => `${file.path}:${first_line}: ${lines} lines`),
    );
    expect(long).toEqual([]);
  });

  it(`lines have at most ${COLUMNS_MAX} columns`, () => {
    const texts = /\/(texts\.\w+|icons)\.tsx?$/;
    const code = sized.filter(({ path }) => !texts.test(path));
    const wide = [...code, ...migrations].flatMap((file) =>
      file.lines
        .map((line, index) => ({ columns: [...line].length, place: `${file.path}:${index + 1}` }))
        .filter(({ columns }) => columns > COLUMNS_MAX)
        .map(({ columns, place }) => `${place}: ${columns} columns`),
    );
    expect(wide).toEqual([]);
  });
});

describe("names", () => {
  const code = files.filter(({ path }) => /^(src|test|scripts|bench|sdk|dashboard)\//.test(path));

  it("files and directories of code are kebab-case", () => {
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/;
    const usual = /^(README|CHANGELOG|LICENSE)(\.md)?$/;
    const wrong = code.filter(({ path }) =>
      path.split("/").some((part) => !kebab.test(part) && !usual.test(part)),
    );
    expect(wrong.map((file) => file.path)).toEqual([]);
  });

  it("a test that opens a browser is named *.browser.test.ts, so that it can be left out", () => {
    const opens = tests.filter(({ path, text }) => {
      return path.endsWith(".test.ts") && /import [^;]*openBrowser|from "[^"]*kyc-stage/.test(text);
    });
    const wrong = opens.filter(({ path }) => !path.endsWith(".browser.test.ts"));
    expect(wrong.map((file) => file.path)).toEqual([]);
  });

  it("no word of our own stands where the field has one", () => {
    const wrong = files
      .filter(({ path }) => /^(src|test|docs\/(guides|reference))\//.test(path))
      .filter(({ path }) => path !== "test/tidy.test.ts")
      .flatMap(({ path, lines }) =>
        lines.flatMap((line, at) => (OWN_WORDS.test(line) ? [`${path}:${at + 1}: ${line}`] : [])),
      );
    expect(wrong).toEqual([]);
  });

  // Reads the syntax of every file.
  it("what is exported is imported by another file", { timeout: 120_000 }, () => {
    const imported = new Map<string, Set<string>>();
    for (const file of files.filter(({ path }) => /\.(tsx?|mjs)$/.test(path))) {
      for (const { path, name } of importedNamesOf(file)) {
        imported.set(path, (imported.get(path) ?? new Set()).add(name));
      }
    }
    const wrong = source
      .filter(({ path }) => !path.endsWith(".d.ts") && !imported.get(path)?.has(EVERYTHING))
      .flatMap((file) =>
        exportedNamesOf(file)
          .filter((name) => !imported.get(file.path)?.has(name))
          .map((name) => `${file.path}: ${name}`),
      );
    expect(wrong).toEqual([]);
  });

  it("no file has a name that says nothing", () => {
    const empty = /^(utils?|helpers?|commons?|managers?|misc|services?)$/;
    const wrong = code.filter(({ path }) =>
      path.split("/").some((part) => empty.test(part.split(".")[0]!)),
    );
    expect(wrong.map((file) => file.path)).toEqual([]);
  });

  it("what a store exports to run a statement begins with one of ten verbs", () => {
    const verb = /^(find|list|lock|insert|update|upsert|delete|claim|count|exists)([A-Z]|$)/;
    const wrong = source
      .filter(({ path }) => isStore(path))
      .flatMap((file) =>
        exportedFunctionsOf(file)
          .filter(({ name, node }) => runsStatement(node) && !verb.test(name))
          .map(({ name }) => `${file.path}: ${name}`),
      );
    expect(wrong).toEqual([]);
  });

  it("a file with one verb exports a function of its own name", () => {
    const wrong = source
      .filter(({ path }) => MODULES.indexOf(moduleOf(path)) > MODULES.indexOf("partners"))
      .filter(({ path }) => USE_CASE.test(basename(path)) && !SUPPORT_FILE.test(path))
      .filter((file) => !exportedNamesOf(file).includes(camelCase(basename(file.path, ".ts"))));
    expect(wrong.map((file) => file.path)).toEqual([]);
  });
});

describe("SQL", () => {
  it("stands in stores, in platform and in verify only", () => {
    const wrong = source
      .filter(({ path }) => !["platform", "verify"].includes(moduleOf(path)))
      .filter(({ path }) => !isStore(path))
      .flatMap((file) =>
        textsIn(nodesOf(file))
          .filter((text) => STATEMENT.test(text))
          .map((text) => `${file.path}: ${text.trim().slice(0, 60)}`),
      );
    expect(wrong).toEqual([]);
  });

  it("never asks the server for the time", () => {
    const in_source = source
      .filter(({ path }) => path !== "src/platform/clock.ts")
      .filter((file) => textsIn(nodesOf(file)).some((text) => SERVER_TIME.test(text)));
    const in_migrations = migrations.filter(({ text }) => SERVER_TIME.test(withoutComments(text)));
    expect([...in_source, ...in_migrations].map((file) => file.path)).toEqual([]);
  });

  it("migrations are called NNNN_verb_noun.sql, numbered without a gap", () => {
    const names = migrations.map((file) => basename(file.path));
    expect(names.filter((name) => !/^\d{4}_[a-z]+(_[a-z0-9]+)+\.sql$/.test(name))).toEqual([]);
    const numbers = names.map((name) => Number(name.slice(0, 4)));
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });

  it("a migration says on line one whether it breaks running code, and sets lock_timeout", () => {
    const wrong = migrations.filter(
      ({ text, lines }) =>
        !/^-- Breaks running code: (yes|no)\b/.test(lines[0]!) ||
        !/^set local lock_timeout = '\d+m?s';$/m.test(text),
    );
    expect(wrong.map((file) => file.path)).toEqual([]);
  });
});

describe("the account is the first column of everything", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  it("every table with account_id has a primary key that begins with it", async () => {
    const rows = await db.database.query<{ name: string }>(
      `select c.relname as name from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
         -- These stand for somebody else's systems, which know nothing of our accounts.
         and not starts_with(c.relname, 'sandbox_')
         and not exists (select from pg_constraint k
           where k.conrelid = c.oid and k.contype = 'p' and k.conkey[1] = a.attnum)
       order by c.relname`,
    );
    expect(rows.map((row) => row.name)).toEqual(GLOBAL_LOOKUPS);
  });

  it("a reference between two such tables carries account_id", async () => {
    const rows = await db.database.query<{ name: string }>(
      `select k.conname as name from pg_constraint k
       join pg_attribute a on a.attrelid = k.conrelid and a.attname = 'account_id'
       join pg_attribute b on b.attrelid = k.confrelid and b.attname = 'account_id'
       where k.contype = 'f' and not (a.attnum = any(k.conkey) and b.attnum = any(k.confkey))`,
    );
    expect(rows.map((row) => row.name)).toEqual([]);
  });

  // Taken for the check of a reference while the table was small, such an index makes it read all
  // rows of the account, for as long as the connection keeps its plan.
  it("no index of a table that is referred to begins like its key and then goes on otherwise", async () => {
    const rows = await db.database.query<{ name: string }>(
      `select distinct i.indexrelid::regclass::text as name from pg_constraint k
       join pg_index i on i.indrelid = k.confrelid and i.indpred is null
       where k.contype = 'f' and cardinality(k.confkey) > 1 and i.indkey[0] = any(k.confkey)
         and not (i.indkey[1] = any(k.confkey))
       order by name`,
    );
    // Asked for by account and time, which no other order serves.
    expect(rows.map((row) => row.name)).toEqual(["invoice_views_updated"]);
  });
});

describe("tests and tracked files", () => {
  it("no test is skipped, singled out or put off", () => {
    const wrong = tests.flatMap((file) =>
      nodesOf(file)
        .filter(isLeftOut)
        .map((node) => `${file.path}:${lineOf(file, node.start)}`),
    );
    expect(wrong).toEqual([]);
  });

  it("no file names a place on somebody's machine or a package registry", () => {
    const wrong = files.flatMap((file) =>
      file.lines
        .map((line, index) => ({ line, place: `${file.path}:${index + 1}` }))
        .filter(({ line }) => MACHINE_PATH.test(line) || REGISTRY.test(line))
        .map(({ place }) => place),
    );
    expect(wrong).toEqual([]);
  });
});

// The verbs that our use cases begin with; a new one belongs here.
const USE_CASE =
  /^(create|update|delete|deactivate|erase|execute|revoke|switch|sign|load|record|check|cancel|validate|refund|match|deliver|settle|review|submit|expire|replay|rotate|upload|send|attach)-.+\.ts$/;
// Such as refund-task.ts: a noun, though it begins like a verb.
const SUPPORT_FILE = /-(model|store|routes|schemas|render|tasks?)\.ts$/;
const STATEMENT =
  /^\s*(select\s|insert into\s|update\s+\w+\s+set\s|delete from\s|with\s+\w+\s+as\s*\(|(create|alter|drop)\s+(table|index|unique)\s|truncate\s+\w|begin$|commit$|rollback$)/i;
const SERVER_TIME =
  /(?<![.\w])(now|clock_timestamp|transaction_timestamp|statement_timestamp|timeofday)\s*\(\s*\)|\b(current_(timestamp|date|time)|localtime(stamp)?)\b|default\s+'(now|today)/i;
const MACHINE_PATH = /(?<![\w.:/-])\/(home|Users|root|work|mnt|private)\/\w/;
const REGISTRY = /\b(registry|npm|packages?|artifactory|nexus|verdaccio)\.[a-z0-9-]+\.[a-z]{2,}\b/i;

// Words of a private vocabulary (style.md): queue, wake, request, fix, files … say the same.
const OWN_WORDS =
  /\b(lanes?|pok(e|es|ed|ing)|errands?|wish(es)?|furniture|borne|mend(s|ed|ing)?|four[- ]eyes)\b/;
const EVERYTHING = "*";

function isInside(folder: string): (path: string) => boolean {
  return (path) => path.startsWith(`${folder}/`);
}

/** What a file takes from others; `*` where it takes a whole module. */
function importedNamesOf(file: SourceFile): { path: string; name: string }[] {
  return nodesOf(file).flatMap((node) => {
    const target = node.source?.value;
    if (typeof target !== "string" || !target.startsWith(".")) return [];
    const path = join(dirname(file.path), target);
    const names: string[] = (node.specifiers ?? [{}]).map(
      (one: SyntaxNode) => (one.imported ?? one.local)?.name ?? EVERYTHING,
    );
    const is_whole = node.specifiers?.some(
      (one: SyntaxNode) => one.type === "ImportNamespaceSpecifier",
    );
    return (is_whole || names.length === 0 ? [EVERYTHING] : names).map((name) => ({ path, name }));
  });
}

function moduleOf(path: string): string {
  return path.split("/")[1]!.replace(/\.ts$/, "");
}

/** A fixture keeps its SQL in store.ts, and what is a matter of its own in deposit-store.ts. */
function isStore(path: string): boolean {
  return /(^|-)store\.ts$/.test(basename(path));
}

function mayImport(from: string, to: string): boolean {
  if (to === "package.json") return true;
  // The demo is played with the published client, and so proves it.
  if (to === "sdk/src/index.ts") return moduleOf(from) === "cli";
  if (!to.startsWith("src/")) return false;
  return MODULES.indexOf(moduleOf(to)) <= MODULES.indexOf(moduleOf(from));
}

/** The first circle found, as `a → b → a`. */
function findCycle(imports: ReadonlyMap<string, readonly string[]>): string | null {
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): string | null => {
    if (way.includes(path)) return [...way.slice(way.indexOf(path)), path].join(" → ");
    if (done.has(path)) return null;
    for (const target of imports.get(path) ?? []) {
      const cycle = visit(target, [...way, path]);
      if (cycle) return cycle;
    }
    done.add(path);
    return null;
  };
  for (const path of imports.keys()) {
    const cycle = visit(path, []);
    if (cycle) return cycle;
  }
  return null;
}

function functionsIn(file: SourceFile): { first_line: number; lines: number }[] {
  return nodesOf(file)
    .filter(({ type }) => /^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(type))
    .map((node) => {
      const first_line = lineOf(file, node.start);
      return { first_line, lines: lineOf(file, node.end) - first_line + 1 };
    });
}

function exportedFunctionsOf(file: SourceFile): { name: string; node: SyntaxNode }[] {
  return syntaxOf(file)
    .body.map((statement: SyntaxNode) => statement.declaration)
    .filter((node: SyntaxNode | undefined) => node?.type === "FunctionDeclaration")
    .map((node: SyntaxNode) => ({ name: node.id.name, node }));
}

function exportedNamesOf(file: SourceFile): string[] {
  return syntaxOf(file).body.flatMap((statement: SyntaxNode) => {
    const { declaration } = statement;
    if (statement.type !== "ExportNamedDeclaration" || !declaration) return [];
    const declared = declaration.declarations ?? [declaration];
    return declared.map((node: SyntaxNode) => node.id?.name);
  });
}

function runsStatement(node: SyntaxNode): boolean {
  return walk(node).some(
    ({ type, callee }) =>
      type === "CallExpression" && ["query", "write"].includes(callee.property?.name),
  );
}

function isLeftOut(node: SyntaxNode): boolean {
  if (node.type !== "MemberExpression") return false;
  const root = walk(node.object).find(({ type }) => type === "Identifier")?.name;
  return (
    /^(it|test|describe|suite|bench|context|ctx|task)$/.test(root) &&
    /^(skip|only|todo|skipIf|runIf|fails)$/.test(node.property.name)
  );
}

function camelCase(name: string): string {
  return name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function withoutComments(sql: string): string {
  return sql.replace(/--.*$/gm, "");
}
