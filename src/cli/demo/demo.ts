import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { Sliproad, SliproadError } from "../../../sdk/src/index.ts";
import { readConfig } from "../../platform/config/config.ts";
import { DatabaseUnavailableError } from "../../platform/db/outages.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { type ApiOptions, findApiKey, findServiceUrl, withApiOptions } from "../api-client.ts";
import { openColours, type Paint } from "../colours.ts";
import { findDatabaseOf } from "../context.ts";
import { type ApiExchange, describeShortly, recordExchanges, shortenIds } from "../exchanges.ts";
import { type JsonOption, printDocument } from "../output.ts";
import { type PostedEntry, readPostedEntries } from "./ledger.ts";
import { startDemoReceiver } from "./receiver.ts";
import { type Facts, type Proof, playPayout, type ReadLedger, type RunStep } from "./story.ts";

type DemoOptions = ApiOptions & JsonOption & { fast?: boolean };
type Step = { title: string; requests: ApiExchange[]; facts: Facts };

const PAUSE_MS = 300;
const CALL_MAX_MS = 5_000;
const READY_MAX_MS = 5_000;
/** For a step with more requests, only the last ones are shown. */
const REQUESTS_MAX = 4;
const LAST_REQUESTS = 2;

export function addDemoCommand(program: Command): void {
  withApiOptions(program.command("demo"))
    .description("run a complete payout in the sandbox and show every request and response")
    .option("--fast", "do not pause between steps")
    .action(run);
}

async function run(options: DemoOptions): Promise<void> {
  const config = readConfig(process.env);
  const url = await findServiceUrl(options);
  await waitUntilReady(url);
  const key = await findApiKey(options);
  const recorder = recordExchanges(url);
  const sliproad = new Sliproad({
    baseUrl: url,
    apiKey: key,
    fetch: recorder.fetch,
    timeout_ms: CALL_MAX_MS,
    retries_max: 1,
  });
  // The ledger is read from the database, if that can be found.
  const ledger_url = await findDatabaseOf(config, url);
  const readLedger: ReadLedger | null =
    ledger_url === null ? null : (payout) => readPostedEntries(ledger_url, payout);
  const steps: Step[] = [];
  const paint = openColours(process.stdout, process.env);
  const runStep = createRunStep(steps, recorder.take, url, (step) =>
    show(options, step, steps, paint),
  );
  const receiver = await startDemoReceiver();
  const began_ms = performance.now();
  try {
    const proof = await playPayout({ sliproad, receiver, runStep, readLedger });
    const duration_ms = Math.round(performance.now() - began_ms);
    if (options.json) {
      printDocument({ ok: true, status: "fiat_sent", url, duration_ms, proof, steps });
    } else {
      console.log(`\n${endLines(proof, url, duration_ms, paint).join("\n")}`);
    }
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    if (options.json) {
      const { message } = error;
      const refusal = { code: "refused", message };
      printDocument({ ok: false, problem: message, error: refusal, url, steps });
    }
    throw error;
  } finally {
    await receiver.close();
  }
}

/** A service that has just started needs a moment until its worker's first heartbeat. */
async function waitUntilReady(url: string): Promise<void> {
  const end_ms = performance.now() + READY_MAX_MS;
  for (;;) {
    const signal = AbortSignal.timeout(CALL_MAX_MS);
    const answer = await fetch(`${url}/readyz`, { signal }).catch(() => {
      throw new StartupError(
        `Nothing answers at ${url}; start the service with npm start (or sliproad start), then ` +
          "run sliproad demo again.",
      );
    });
    const body = (await answer.json().catch(() => null)) as { problems?: string[] } | null;
    if (answer.ok) return;
    if (performance.now() > end_ms) {
      const why = body?.problems?.join(" ") ?? `/readyz answered ${answer.status}.`;
      throw new StartupError(`The service at ${url} is not ready: ${why}`);
    }
    await sleep(200);
  }
}

function createRunStep(
  steps: Step[],
  take: () => ApiExchange[],
  url: string,
  showStep: (step: Step) => Promise<void>,
): RunStep {
  return async (title, play) => {
    const add = async (facts: Facts) => {
      const step = { title, requests: take(), facts };
      steps.push(step);
      await showStep(step);
    };
    try {
      const { facts, result } = await play();
      await add(facts);
      return result;
    } catch (error) {
      const explained = explain(error, title, url);
      await add(explained instanceof StartupError ? { problem: explained.message } : {});
      throw explained;
    }
  };
}

/** A sentence for errors of the service or the network; other errors are returned unchanged. */
function explain(error: unknown, title: string, url: string): unknown {
  if (error instanceof DatabaseUnavailableError) {
    return new StartupError("The database that holds the ledger cannot be reached.");
  }
  if (!(error instanceof SliproadError)) return error;
  const { error_code, status } = error;
  if (status === null) {
    return new StartupError(
      `The service at ${url} stopped answering (${error_code}) in the step "${title}"; see its ` +
        "log, start it again and run sliproad demo again.",
    );
  }
  if (error_code === "unauthorized") {
    return new StartupError(
      "The service refused the API key; pass one of its keys with --key or SLIPROAD_API_KEY " +
        "(create one with sliproad keys create).",
    );
  }
  if (error_code === "route_not_found") {
    return new StartupError(
      `The service at ${url} is not in sandbox mode; the demo needs the sandbox.`,
    );
  }
  const why = error.message.replaceAll("\n- ", " ").replace(/\.?$/, ".");
  return new StartupError(`The step "${title}" failed: ${why}`);
}

async function show(options: DemoOptions, step: Step, steps: Step[], paint: Paint): Promise<void> {
  if (options.json) return;
  console.log(`\n${stepLines(step, steps.length, paint).join("\n")}`);
  if (process.stdout.isTTY && !options.fast) await sleep(PAUSE_MS);
}

function stepLines({ title, requests, facts }: Step, number: number, paint: Paint): string[] {
  const { entries, ...others } = facts;
  const hidden = requests.length > REQUESTS_MAX ? requests.length - LAST_REQUESTS : 0;
  return [
    paint("bold", `${number}. ${title}`),
    ...(hidden > 0 ? [paint("dim", `   … asked ${hidden} times before:`)] : []),
    ...requests.slice(hidden).flatMap((exchange) => exchangeLines(exchange, paint)),
    ...Object.entries(others).map(
      ([name, value]) => `   ${paint("cyan", name)} ${factText(name, value)}`,
    ),
    ...(Array.isArray(entries) ? entries.flatMap((entry) => entryLines(entry, paint)) : []),
  ];
}

/** URLs and sentences are not truncated. */
function factText(name: string, value: unknown): string {
  return name === "url" || name === "problem" ? String(value) : describeShortly(value);
}

function exchangeLines({ method, path, request, status }: ApiExchange, paint: Paint): string[] {
  const outcome = paint(status < 400 ? "green" : "red", `→ ${status}`);
  return [
    `   ${paint("bold", method)} ${shortenIds(path)}  ${outcome}`,
    ...(request === null ? [] : [`     ${paint("dim", describeShortly(request))}`]),
  ];
}

function entryLines({ kind, lines }: PostedEntry, paint: Paint): string[] {
  return [
    `   ${paint("cyan", kind)}`,
    ...lines.map(({ side, ledger_account, amount, currency }) =>
      [
        `     ${side.padEnd(6)}`,
        shortenIds(ledger_account).padEnd(28),
        amount.padStart(12),
        currency,
      ].join(" "),
    ),
  ];
}

function endLines(proof: Proof, url: string, duration_ms: number, paint: Paint): string[] {
  const references = proof.offramps.map(({ end_to_end_id }) => end_to_end_id).join(", ");
  const ledger = proof.ledger
    ? `${proof.ledger.length} balanced entries in the ledger`
    : "the ledger is in the service's own database; run sliproad verify there";
  return [
    `${paint("green", paint("bold", "fiat_sent"))} after ${(duration_ms / 1000).toFixed(1)} s.`,
    `  Bank       ${references}`,
    `  Webhook    ${proof.webhook.webhook_id}, signature verified`,
    `  Books      ${ledger}`,
    "",
    `Next: ${url}/docs, or sliproad listen in one terminal and sliproad trigger in another.`,
  ];
}
