import { listAccounts } from "../../accounts/store.ts";
import type { Core } from "../../app/open-core.ts";
import { openSender } from "../../app/open-partners.ts";
import type { AppChange } from "../../apps/change-app.ts";
import { checkApp } from "../../apps/check-app.ts";
import { createOneApp } from "../../apps/create-apps.ts";
import { headerNamesOf } from "../../apps/model.ts";
import { asOf, toAppRecord, toDocument } from "../../apps/render.ts";
import { findAppByClientId, listEndpointsFor } from "../../apps/store.ts";
import { changeOneApp } from "../../apps/update-apps.ts";
import { isId } from "../../platform/ids.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { byOperator, findAccountOf } from "../operator.ts";
import type { JsonOption } from "../output.ts";

export { toDocument };

export type CreateOptions = JsonOption & {
  name: string;
  account?: string;
  flow: string;
  redirectUri?: string[];
  webhookUrl?: string;
  webhookSecret?: string;
  events?: string;
  ordered?: boolean;
  reason: string;
};

/** By the field that they set. */
const FLAGS: Readonly<Record<string, string>> = {
  name: "--name",
  flow: "--flow",
  redirect_uris: "--redirect-uri",
  webhook_url: "--webhook-url",
  webhook_secret: "--webhook-secret",
  events: "--events",
  is_ordered: "--no-ordered",
};

export async function create(core: Core, options: CreateOptions) {
  const { config } = core;
  const account = await findAccountOf(core, options.account);
  const { fields, problems } = checkApp(
    {
      name: options.name,
      flow: options.flow,
      redirect_uris: options.redirectUri ?? [],
      webhook_url: options.webhookUrl ?? null,
      webhook_secret: options.webhookSecret ?? null,
      events: (options.events ?? "")
        .split(",")
        .map((name) => name.trim())
        .filter(Boolean),
      is_ordered: options.ordered ?? true,
    },
    { mode: config.mode, refuseUrl: openSender(config).refuse },
    "",
  );
  const [problem] = problems;
  if (problem) {
    const field = problem.field.replace(/\[\d+\]$/, "");
    throw new StartupError(`${FLAGS[field] ?? field}: ${problem.message}`);
  }
  return createOneApp(core, account.id, fields, byOperator(options.reason));
}

export async function list(core: Core, wanted: string | undefined) {
  const { database, keyring, clock } = core;
  const accounts = wanted ? [await findAccountOf(core, wanted)] : await listAccounts(database);
  const keys = await keyring.openAccounts(
    database,
    accounts.map(({ id }) => ({ account_id: id })),
  );
  const found = await Promise.all(accounts.map(({ id }) => listEndpointsFor(database, id)));
  return found.flatMap((endpoints, at) =>
    endpoints
      .filter((endpoint) => endpoint.account_id === accounts[at]!.id)
      .map((endpoint) =>
        toAppRecord(
          asOf(endpoint, clock.now()),
          headerNamesOf(keys.get(endpoint.account_id)!, endpoint),
        ),
      ),
  );
}

/** In any account: the command line is the operator's. */
export async function apply(core: Core, id: string, change: AppChange, reason: string) {
  const found = isId(id) ? await findAppByClientId(core.database, id.toLowerCase()) : undefined;
  const changed = found && (await changeOneApp(core, found, change, byOperator(reason)));
  if (!changed) throw new StartupError(`There is no application ${id}; see sliproad apps list.`);
  return changed;
}
