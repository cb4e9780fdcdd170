import { randomBytes } from "node:crypto";
import type { Bench } from "./creation-scenarios.ts";
import { type Judged, judge } from "./measure.ts";
import { addPayers, addTargets, creation, type Target } from "./payers.ts";
import { peakMemory, resetPeakMemory } from "./stage.ts";

const UPLOADS = 100;
const FILE_BYTES = 5 * 1024 * 1024;
/** Both spellings are tried: the scenario runs once one of them is a route. */
const PATHS = [
  ({ user_id }: Target, id: string) => `/users/${user_id}/offramps/${id}/supporting-documents`,
  (_: Target, id: string) => `/offramps/${id}/supporting-documents`,
];

/** How much memory grows during 100 concurrent uploads of 5 MB; null if there is no such route. */
export async function uploads({ stage, accounts }: Bench): Promise<Judged | null> {
  const { service } = stage;
  const payers = await addPayers(service.url, accounts.slice(0, 1), 1);
  const [target] = await addTargets(service.url, payers);
  const pathOf = await findRoute(service.url, target!);
  if (!pathOf) return null;
  const ids = await createOfframps(service.url, target!);
  const file = Buffer.concat([Buffer.from("%PDF-1.7\n"), randomBytes(FILE_BYTES - 9)]);
  await resetPeakMemory(service);
  const before = await peakMemory(service);
  await Promise.all(ids.map((id) => upload(service.url, target!, pathOf(target!, id), file)));
  const after = await peakMemory(service);
  if (before === null || after === null) return null;
  return judge("uploads: memory grows by, MB", [after - before]);
}

async function findRoute(url: string, target: Target) {
  for (const path of PATHS) {
    const answer = await fetch(`${url}${path(target, target.quote_id)}`, {
      method: "POST",
      headers: { authorization: `Bearer ${target.api_key}` },
    });
    const { error_code } = (await answer.json()) as { error_code?: string };
    if (error_code !== "route_not_found") return path;
  }
  return null;
}

async function createOfframps(url: string, target: Target): Promise<string[]> {
  const { path, body, api_key } = creation(target, UPLOADS);
  const headers = { authorization: `Bearer ${api_key}`, "content-type": "application/json" };
  const answer = await fetch(`${url}${path}`, { method: "POST", headers, body: body! });
  const { offramps } = (await answer.json()) as { offramps: { id: string }[] };
  return offramps.map((offramp) => offramp.id);
}

async function upload(url: string, target: Target, path: string, file: Buffer): Promise<void> {
  const form = new FormData();
  form.set("file", new Blob([file as never], { type: "application/pdf" }), "invoice.pdf");
  const headers = { authorization: `Bearer ${target.api_key}` };
  const answer = await fetch(`${url}${path}`, { method: "POST", headers, body: form });
  if (!answer.ok) throw new Error(`upload: ${await answer.text()}`);
  await answer.body?.cancel();
}
