import { type Command, Option } from "commander";
import type { Core } from "../app/open-core.ts";
import { limitChange } from "../limits/change-limits.ts";
import {
  EVERY,
  LIMIT_SCOPES,
  LIMIT_WINDOWS,
  type LimitRule,
  type LimitScope,
  type LimitWindow,
  usdText,
  WINDOWS_OF,
} from "../limits/model.ts";
import { listAllRules } from "../limits/store.ts";
import { isId } from "../platform/ids.ts";
import { StartupError } from "../platform/startup-error.ts";
import type { UserKey } from "../users/store.ts";
import { withCore } from "./context.ts";
import { changeByApproval, changeText, findAccountOf, type Proposed, readUsd } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

type SetOptions = JsonOption & {
  scope: LimitScope;
  window: LimitWindow;
  amount?: string;
  count?: string;
  account?: string;
  user?: string;
  reason: string;
};

const COUNT = /^\d{1,9}$/;

export function addLimitCommands(program: Command): void {
  const limits = program.command("limits").description("manage how much may leave");
  limits
    .command("list")
    .description("list all limits")
    .action(async (options: JsonOption) => {
      const rules = await withCore(({ database }) => listAllRules(database));
      print(options, { limits: rules.map(toJson) }, rules.length > 0 ? rules.map(line) : ["None."]);
    });
  limits
    .command("set")
    .description("set a limit; without --amount and --count it is removed")
    .addOption(scopeOption())
    .addOption(windowOption())
    .option("--amount <usd>", "the largest amount in usd, e.g. 50000")
    .option("--count <number>", "the largest number of payments")
    .option("--account <name or id>", "for this account only (default: all accounts)")
    .option("--user <id>", "for this user only; needs --account")
    .option("--reason <reason>", "the reason, for the audit log", "set on the command line")
    .action(async (options: SetOptions) => {
      const { rule, proposal } = await withCore((core) => set(core, options));
      const said = proposal ? [changeText(proposal, "")] : [];
      print(options, { limit: toJson(rule), proposal }, [...said, line(rule)]);
    });
}

function scopeOption(): Option {
  const meaning =
    "what is limited: a single payment, all payments of a user, to a payee's bank account, of an " +
    "account, or an account's open quotes";
  return new Option("--scope <scope>", meaning).choices(LIMIT_SCOPES).makeOptionMandatory();
}

function windowOption(): Option {
  const meaning = "the time in which payments count; single for payout and open_quotes";
  return new Option("--window <window>", meaning).choices(LIMIT_WINDOWS).makeOptionMandatory();
}

async function set(
  core: Core,
  options: SetOptions,
): Promise<{ rule: LimitRule; proposal: Proposed }> {
  const { scope, window, amount, count, reason } = options;
  if (!WINDOWS_OF[scope].includes(window)) {
    throw new StartupError(`--window must be ${WINDOWS_OF[scope].join(" or ")} for ${scope}.`);
  }
  if (count !== undefined && (!COUNT.test(count) || window === "single")) {
    throw new StartupError("--count must be a number of payments, and needs a window of time.");
  }
  const rule: LimitRule = {
    ...(await whom(core, options)),
    scope,
    time_window: window,
    amount_max: amount === undefined ? null : readUsd("--amount", amount),
    count_max: count === undefined ? null : Number(count),
  };
  const everybody = rule.account_id === EVERY;
  const account_id = everybody ? core.first_start.operator.id : rule.account_id;
  const asked = { account_id, input: rule, is_operators: true, reason };
  return { rule, proposal: await changeByApproval(core, limitChange, asked) };
}

async function whom(core: Core, { account: wanted, user }: SetOptions): Promise<UserKey> {
  if (wanted === undefined) {
    if (user !== undefined) throw new StartupError("--user needs --account.");
    return { account_id: EVERY, user_id: EVERY };
  }
  const account = await findAccountOf(core, wanted);
  if (user !== undefined && !isId(user)) throw new StartupError("--user must be a user's id.");
  return { account_id: account.id, user_id: user ?? EVERY };
}

function toJson({ account_id, user_id, scope, time_window, amount_max, count_max }: LimitRule) {
  return {
    account_id: account_id === EVERY ? null : account_id,
    user_id: user_id === EVERY ? null : user_id,
    scope,
    window: time_window,
    amount_max: amount_max === null ? null : Number(amount_max) / 100,
    count_max,
  };
}

function line(rule: LimitRule): string {
  const { account_id, user_id, amount_max, count_max } = toJson(rule);
  const whose = user_id ?? account_id ?? "all accounts";
  const amount = amount_max === null ? "" : `  ${usdText(rule.amount_max!)}`;
  const count = count_max === null ? "" : `  ${count_max} payments`;
  const none = amount === "" && count === "" ? "  removed" : "";
  return `${whose}  ${rule.scope}  ${rule.time_window}${amount}${count}${none}`;
}
