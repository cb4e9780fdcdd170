import { pipeline } from "node:stream/promises";
import type { FastifyRequest } from "fastify";
import type { FileStore } from "../../partners/files/file-store.ts";
import { type FileFault, inspectFile } from "../../partners/files/inspect-file.ts";
import { judgeFile } from "../../partners/files/judge-file.ts";
import { sealedSize, sealStream } from "../../platform/encryption/sealed-stream.ts";
import { Refusal } from "../../platform/errors.ts";
import { readUpload } from "../../platform/http/uploads/read-upload.ts";
import { newId } from "../../platform/ids.ts";
import { deleteDraftFile, insertKycFiles, type KycFile } from "../application-store.ts";
import { acceptedTypes, SLOTS_OF, type Slot } from "../fields.ts";
import { kycFileKey, kycFilePlace, openKycFile } from "../kyc-file.ts";
import { FILE_BYTES_MAX } from "../model.ts";
import { sweepFiles } from "../task-kinds.ts";
import type { StateDeps } from "./load-state.ts";
import { recordBegun } from "./record-begun.ts";
import { changeAsVisitor, type Visitor } from "./visitor.ts";

export type FileDeps = StateDeps & { files: FileStore };

const PART = "file";
const TOO_LARGE = "This file is larger than 10 MB. Take a smaller picture, or scan it again.";

/**
 * Streams a file, sealed, to the file store and checks it there before the draft refers to it. The
 * file it replaces is deleted a little later.
 */
export async function attachFile(
  deps: FileDeps,
  visitor: Visitor,
  slot: Slot,
  request: FastifyRequest,
): Promise<void> {
  const { files } = deps;
  const { key, visit } = visitor;
  const { account_id, user_id } = key;
  // Before anything is stored; checked again later, under the lock. The sweep deletes the file that
  // is replaced, and this one if its row is never written.
  const { file, subject_key } = await changeAsVisitor(deps, visitor, async (tx, locked, now) => {
    const { user, subject_key } = locked;
    if (!SLOTS_OF[user.beneficiary_type].includes(slot)) throw new Refusal("record_not_found");
    sweepFiles(tx, key, now);
    return { file: newId(now), subject_key };
  });
  const stored = await storeUpload(deps, visitor, slot, file, subject_key, request);
  try {
    const content = await openKycFile(files.openRead, key, file, subject_key);
    const fault = await inspectFile(stored.type, content, account_id);
    if (fault) throw Refusal.of([{ field: PART, code: "record_invalid", message: FAULTS[fault] }]);
    await changeAsVisitor(deps, visitor, async (tx, locked, now) => {
      const row: KycFile = {
        ...{ account_id, user_id, slot, file, application_id: null, visit_id: visit.id },
        ...{ id: newId(now), type: stored.type, size: stored.size, uploaded_at: now },
        hash: Buffer.from(stored.hash, "hex"),
      };
      deleteDraftFile(tx, key, slot);
      insertKycFiles(tx, [row]);
      recordBegun(tx, locked, now);
    });
  } catch (error) {
    // After any other error the row may have been written; if not, the sweep deletes the file.
    if (error instanceof Refusal) await files.delete(kycFileKey(key, file)).catch(() => {});
    throw error;
  }
}

export function deleteFile(deps: StateDeps, visitor: Visitor, slot: Slot): Promise<void> {
  return changeAsVisitor(deps, visitor, async (tx, _locked, now) => {
    deleteDraftFile(tx, visitor.key, slot);
    sweepFiles(tx, visitor.key, now);
  });
}

/** What the applicant can do about an unreadable file. */
export const FAULTS: Readonly<Record<FileFault, string>> = {
  truncated: "The file is incomplete. Take the picture again, or upload the file again.",
  malformed: "The file cannot be opened. Take the picture again, or save the file again.",
  locked: "This PDF is protected with a password. Remove the password, or take a picture instead.",
  too_small: "The picture is too small to read. Send a larger one.",
};

async function storeUpload(
  { files }: FileDeps,
  { key }: Visitor,
  slot: Slot,
  file: string,
  subject_key: Buffer,
  request: FastifyRequest,
) {
  const rules = {
    part: PART,
    bytes_max: FILE_BYTES_MAX,
    scan: files.scan,
    judge: (head: Buffer) => {
      const type = judgeFile(head);
      if (type !== null && acceptedTypes(slot).includes(type)) return type;
      throw new Refusal("unsupported_file_type", wrongType(slot));
    },
  };
  const limits = { bytes_max: sealedSize(FILE_BYTES_MAX), account_id: key.account_id };
  const upload = await readUpload(request, rules, (content) =>
    pipeline(
      content,
      sealStream(subject_key, kycFilePlace(key, file)),
      (sealed: AsyncIterable<Buffer>) => files.putTemporary(sealed, limits),
    ),
  ).catch(withOwnLimit);
  await files.promote(upload.kept.temporary_key, kycFileKey(key, file));
  return upload;
}

function wrongType(slot: Slot): string {
  return slot === "selfie" ? "Send a JPG or PNG picture." : "Send a JPG or PNG picture, or a PDF.";
}

/** This page has its own size limit, different from the one in the table of errors. */
function withOwnLimit(error: unknown): never {
  const is_too_large = error instanceof Refusal && error.code === "file_too_large";
  throw is_too_large ? new Refusal("file_too_large", TOO_LARGE) : error;
}
