import { type Command, Option } from "commander";
import { findOperator } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import { reasonProblems } from "../catalogue/text.ts";
import { runOnce } from "../platform/commands/run-once.ts";
import { cutPage, readPage } from "../platform/http/list.ts";
import { FIRST_ID, isId, newId } from "../platform/ids.ts";
import { StartupError } from "../platform/startup-error.ts";
import { decideMatches } from "../screening/decide-matches.ts";
import { MATCH_STATUSES, type MatchDecision, type MatchStatus } from "../screening/model.ts";
import { renderMatch, renderMatches, type ShownMatch } from "../screening/render.ts";
import { countOpenMatches, findState, listMatches, toMatches } from "../screening/store.ts";
import { withCore } from "./context.ts";
import { type JsonOption, print } from "./output.ts";

const LISTED_MAX = 100;

export function addScreeningCommands(program: Command): void {
  const screening = program
    .command("screening")
    .description("review people who are like an entry of a sanctions list");
  screening
    .command("status")
    .description("show the lists in use and how far everybody has been screened")
    .action(async (options: JsonOption) => {
      const status = await withCore(readStatus);
      print(options, { screening: status }, statusLines(status));
    });
  screening
    .command("list")
    .description("list matches, newest first")
    .addOption(
      new Option("--status <status>", "their status").choices(MATCH_STATUSES).default("open"),
    )
    .action(async (options: JsonOption & { status: MatchStatus }) => {
      const { matches, has_more } = await withCore((core) => list(core, options.status));
      const lines = matches.length > 0 ? matches.map(line) : ["None."];
      print(options, JSON.parse(renderMatches(matches, has_more)), lines);
    });
  for (const [decision, meaning] of [
    ["clear", "decide that the person is somebody else"],
    ["confirm", "decide that the person is the entry of the list"],
  ] as const) {
    screening
      .command(decision)
      .argument("<match-id>", "the match, as `screening list` prints it")
      .description(meaning)
      .requiredOption("--reason <reason>", "the reason, for the operator's audit log")
      .action(async (id: string, options: JsonOption & { reason: string }) => {
        const match = await withCore((core) => decide(core, decision, id, options.reason));
        print(options, JSON.parse(renderMatch(match)), [line(match)]);
      });
  }
}

async function readStatus({ database }: Core) {
  const [state, open] = await Promise.all([findState(database), countOpenMatches(database)]);
  return {
    version: state?.version ?? null,
    entries: state?.entries ?? 0,
    files: state?.files ?? [],
    problem: state?.problem ?? null,
    activated_at: state?.activated_at?.toISOString() ?? null,
    people: state?.people_count ?? 0,
    screened: state?.done_count ?? 0,
    finished_at: state?.finished_at?.toISOString() ?? null,
    open,
  };
}

function statusLines(status: Awaited<ReturnType<typeof readStatus>>): string[] {
  if (status.version === null) return ["Screening is off: SLIPROAD_SCREENING_LISTS is not set."];
  const { people, screened, finished_at, open } = status;
  return [
    ...status.files.map(({ path, list, entries }) => `${path}  ${list}  ${entries} entries`),
    `Version ${status.version}, in use since ${status.activated_at}.`,
    finished_at === null
      ? `Screened ${screened} of ${people} users.`
      : `All ${screened} users were screened by ${finished_at}.`,
    `Open: ${open.match} matches, ${open.possible_match} possible matches.`,
    ...(status.problem === null ? [] : [`A list cannot be loaded: ${status.problem}`]),
  ];
}

async function list({ database, keyring }: Core, status: MatchStatus) {
  const { page } = readPage({ limit: LISTED_MAX });
  const { rows, has_more } = cutPage(await listMatches(database, { status }, page), page);
  const keys = await keyring.openUserKeys(database, rows);
  return { matches: toMatches(rows, keys), has_more };
}

async function decide(
  { database, keyring, clock }: Core,
  decision: MatchDecision,
  match_id: string,
  reason: string,
): Promise<ShownMatch> {
  if (!isId(match_id)) throw new StartupError("Give the id of a match; see screening list.");
  const operator = await findOperator(database);
  const now = clock.now();
  const command = {
    id: newId(now),
    account_id: operator!.id,
    // No key has this id.
    credential_id: FIRST_ID,
    input: { match_id: match_id.toLowerCase(), reason, problems: reasonProblems(reason, []) },
    idempotency: null,
    actor: "command line" as const,
  };
  const use_case = decideMatches(keyring, decision);
  const verdict = await database.transaction((tx) => runOnce(tx, use_case, command, now));
  if ("refusal" in verdict) throw new StartupError(verdict.refusal.sentence);
  return verdict.output;
}

function line({ id, status, verdict, score, details, record_kind, record_id }: ShownMatch): string {
  const { person, entry, listed } = details;
  const who = person.names.join("; ") || person.wallets.join("; ");
  const person_of = `${who} (${record_kind} ${record_id})`;
  const entry_of = `${entry.list} ${entry.id}: ${listed}`;
  return `${id}  ${status}  ${verdict} ${score}  ${person_of}  ${entry_of}`;
}
