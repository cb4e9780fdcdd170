import type { FileStore } from "../../partners/files/file-store.ts";
import { newId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { signingKey } from "../../platform/sealing/seal.ts";
import { signingSeed } from "../../platform/sealing/signing-seed.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { type Verification, type VerifyInput, verify } from "../verify.ts";
import type { VerificationRun } from "./store.ts";

export type VerifyBooksDeps = Pick<
  ModuleCore,
  "config" | "database" | "clock" | "keyring" | "index_key"
> & { files: FileStore };

/** Verifies everything that this installation can read, and says when and how long. */
export async function verifyBooks(
  { config, database, clock, keyring, index_key, files }: VerifyBooksDeps,
  more: Pick<VerifyInput, "anchors" | "since" | "archives" | "onProgress">,
): Promise<VerificationRun & Pick<Verification, "archives_unread">> {
  const key = signingKey(signingSeed(config));
  const times = { now: clock.now(), real_now: realTime(clock) };
  const begun_ms = performance.now();
  const input = { ...times, keyring, index_key, files, ...more };
  const { accounts, fault, archives_unread } = await verify(database, key, input);
  const took_ms = Math.round(performance.now() - begun_ms);
  const at = realTime(clock);
  const has_anchors = more.anchors !== undefined;
  return { id: newId(at), at, accounts, fault, has_anchors, took_ms, archives_unread };
}
