import type { Command } from "commander";
import type { Core } from "../app/open-core.ts";
import { runOnce } from "../platform/commands/run-once.ts";
import { isId, newId } from "../platform/ids.ts";
import { StartupError } from "../platform/startup-error.ts";
import { findRetention } from "../retention/load-facts.ts";
import type { Retention } from "../retention/model.ts";
import { toRecord } from "../retention/render.ts";
import { requestErasures, restoreUsers } from "../retention/request-erasures.ts";
import { withCore } from "./context.ts";
import { byOperator, findAccountOf } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

type UserOptions = JsonOption & { account?: string };

const ACCOUNT = [
  "--account <name or id>",
  "whose user it is (default: the first account)",
] as const;

export function addUserCommands(program: Command): void {
  const users = program.command("users").description("manage the users (payers) of an account");

  users
    .command("erase")
    .description("erase a person's data permanently, as soon as the law permits it")
    .argument("<user_id>", "the user's id")
    .requiredOption("--reason <reason>", "the reason, for the audit log (no personal data)")
    .option(...ACCOUNT)
    .action((user_id: string, options: UserOptions & { reason: string }) =>
      change(user_id, options, requestErasures),
    );

  users
    .command("restore")
    .description("withdraw the request to erase a person")
    .argument("<user_id>", "the user's id")
    .requiredOption("--reason <reason>", "the reason, for the audit log (no personal data)")
    .option(...ACCOUNT)
    .action((user_id: string, options: UserOptions & { reason: string }) =>
      change(user_id, options, restoreUsers),
    );

  users
    .command("retention")
    .description("show what must be kept of a person, why and until when")
    .argument("<user_id>", "the user's id")
    .option(...ACCOUNT)
    .action(async (user_id: string, options: UserOptions) => {
      show(options, await withCore((core) => find(core, user_id, options)));
    });
}

async function change(
  user_id: string,
  options: UserOptions & { reason: string },
  useCase: typeof requestErasures,
): Promise<void> {
  const { reason } = options;
  const retention = await withCore(async (core) => {
    const { database, keyring, clock, config } = core;
    const { id: account_id } = await findAccountOf(core, options.account);
    if (!isId(user_id)) throw unknown(user_id);
    const now = clock.now();
    const command = {
      id: newId(now),
      account_id,
      credential_id: account_id,
      input: { user_id, reason, problems: [] },
      idempotency: null,
      actor: byOperator(reason).actor,
    };
    const deps = { keyring, retention_years: config.retention_years };
    const done = await database.transaction((tx) => runOnce(tx, useCase(deps), command, now));
    if ("output" in done) return done.output.retention;
    if (done.refusal.code === "record_not_found") throw unknown(user_id);
    throw new StartupError(`User ${user_id} cannot be erased. ${done.refusal.sentence}`);
  });
  show(options, retention);
}

async function find(core: Core, user_id: string, options: UserOptions): Promise<Retention> {
  const { database, clock, config } = core;
  const { id: account_id } = await findAccountOf(core, options.account);
  const key = { account_id, user_id };
  const found = isId(user_id)
    ? await findRetention(database, key, config.retention_years, clock.now())
    : undefined;
  if (!found) throw unknown(user_id);
  return found;
}

function unknown(user_id: string): StartupError {
  return new StartupError(`There is no user ${user_id} in that account; check the id.`);
}

function show(options: JsonOption, retention: Retention): void {
  print(options, { retention: toRecord(retention) }, linesOf(retention));
}

function linesOf({ user_id, status, kept, erase_after }: Retention): string[] {
  if (status === "erased") return [`Erased user ${user_id}.`];
  const when = erase_after
    ? `on ${erase_after.toISOString().slice(0, 10)}`
    : "once nothing has to be kept";
  const first =
    status === "erasure_requested"
      ? `User ${user_id} is deactivated and will be erased ${when}.`
      : `User ${user_id} is active; its erasure was not requested.`;
  if (kept.length === 0) return [first, "Nothing has to be kept: it can be erased now."];
  return [
    first,
    ...kept.map(({ record, why, until }) => {
      const end = until ? `until ${until.toISOString().slice(0, 10)}` : "no end known";
      return `  kept: ${record.replaceAll("_", " ")}, ${end}. ${why}`;
    }),
  ];
}
