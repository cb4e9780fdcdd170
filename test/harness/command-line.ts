import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PLANTED_PERSONAL_DATA, SecretWatch } from "./planted-secrets.ts";

/** Compile cache: every command compiles the same files, so later ones start faster. */
export const COMPILED = join(tmpdir(), "sliproad-test-compiled");
const PROGRAM = join(import.meta.dirname, "../../bin/sliproad");

export type Ended = { code: number | null; stdout: string; stderr: string };

export type Running = {
  child: ChildProcess;
  /** The output so far. */
  printed(): { stdout: string; stderr: string };
  ended: Promise<Ended>;
};

/**
 * Starts the real program. It gets the settings given here, none of the test run's. What it prints
 * is searched for planted personal data, and for the secrets that it was given: `ended` fails then.
 */
export function startCommand(
  args: string[],
  environment: Record<string, string>,
  stdin?: string,
): Running {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH, HOME, NODE_COMPILE_CACHE: COMPILED, ...environment },
    stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  child.stdin?.end(stdin);
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]!.setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  }
  // The demo shows each request of its own, with the IBAN that documentation of banks uses.
  const planted = args[0] === "demo" ? [] : PLANTED_PERSONAL_DATA;
  const secrets = new SecretWatch("the output of a command", planted);
  secrets.add(...secretsIn(environment));
  const ended = once(child, "close").then(([code]) => {
    for (const name of ["stdout", "stderr"] as const) {
      for (const line of printed[name].split("\n")) secrets.check(line);
    }
    secrets.assertNone();
    return { code: code as number | null, ...printed };
  });
  return { child, printed: () => ({ ...printed }), ended };
}

const SECRET_SETTING = /KEY|SECRET|PASSWORD|TOKEN/;
/** A setting that names a file is no secret; a short value stands in other words by chance. */
const SECRET_LENGTH_MIN = 12;

function secretsIn(environment: Record<string, string>): string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    const is_secret = SECRET_SETTING.test(name) && value.length >= SECRET_LENGTH_MIN;
    return is_secret && !value.includes("/") ? [value] : [];
  });
}

export function runCommand(...command: Parameters<typeof startCommand>): Promise<Ended> {
  return startCommand(...command).ended;
}
