import { useEffect, useRef, useState } from "react";
import { deleteFile, Refusal, uploadFile } from "../api.ts";
import { findFault, isPicture } from "../file-checks.ts";
import { useSession, wordsFor } from "../session.ts";
import { isLargePhoto, shrinkPhoto } from "../shrink-photo.ts";
import type { FileSlotName } from "../state.ts";
import { fileSize, fill, texts } from "../texts.ts";

export type Upload = {
  /** An image of the file being sent or just sent; null for a PDF. */
  preview_url: string | null;
  /** From 0 to 1 while the file is being sent, otherwise null. */
  share: number | null;
  problem: string | null;
  /** True when sending the same file again may succeed. */
  can_retry: boolean;
};

const NOTHING: Upload = { preview_url: null, share: null, problem: null, can_retry: false };

/** Checks and sends the files of a slot, one at a time, and reports progress. */
export function useUpload(slot: FileSlotName, title: string) {
  const { state, change, fail, announce, problems, setProblems } = useSession();
  const [upload, setUpload] = useState<Upload>(NOTHING);
  const last_file = useRef<Blob | null>(null);
  const current = useRef<AbortController | null>(null);
  const accepts = state.files[slot]?.accepts ?? [];

  // Leaving the step frees the preview but does not abort the upload: the user wants it sent.
  const url = upload.preview_url;
  useEffect(() => () => void (url && URL.revokeObjectURL(url)), [url]);

  /** Aborts the upload in progress for this slot before a new one begins. */
  function begin(): AbortSignal {
    current.current?.abort();
    current.current = new AbortController();
    return current.current.signal;
  }

  async function choose(chosen: Blob) {
    const signal = begin();
    const is_large = await isLargePhoto(chosen);
    if (is_large && !signal.aborted) setUpload({ ...NOTHING, share: 0 });
    const file = is_large ? await shrinkPhoto(chosen) : chosen;
    const problem = await problemOf(file, accepts);
    if (signal.aborted) return;
    if (problem) return setUpload({ ...NOTHING, problem });
    last_file.current = file;
    await send(file, signal);
  }

  async function send(file: Blob, signal: AbortSignal) {
    const preview_url = (await isPicture(file)) ? URL.createObjectURL(file) : null;
    if (signal.aborted) return;
    const onProgress = (share: number) => {
      if (!signal.aborted) setUpload((known) => ({ ...known, share }));
    };
    setUpload({ ...NOTHING, preview_url, share: 0 });
    setProblems(withoutSlot(problems, slot));
    try {
      await change(() => uploadFile(slot, file, onProgress, signal), signal);
      if (signal.aborted) return;
      setUpload({ ...NOTHING, preview_url });
      announce(fill(texts.files.announce_done, { file: title }));
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refusal) || error.is_final) return fail(error);
      const [problem] = Object.values(error.problems);
      const can_retry = error.status >= 500 || error.status === 429;
      setUpload({ ...NOTHING, problem: wordsFor(problem ?? error), can_retry });
    }
  }

  async function remove() {
    setUpload(NOTHING);
    try {
      await change(() => deleteFile(slot));
      announce(fill(texts.files.announce_removed, { file: title }));
    } catch (error) {
      if (!(error instanceof Refusal) || error.is_final) return fail(error);
      setUpload({ ...NOTHING, problem: wordsFor(error) });
    }
  }

  function cancel() {
    current.current?.abort();
    setUpload(NOTHING);
  }

  function retry() {
    if (last_file.current) void send(last_file.current, begin());
  }

  const refuse = (problem: string) => setUpload({ ...NOTHING, problem });
  const shown: Upload = { ...upload, problem: upload.problem ?? problems[slot] ?? null };
  return { upload: shown, choose, remove, cancel, retry, refuse };
}

/** The message for a file that cannot be accepted, or null. */
async function problemOf(file: Blob, accepts: string[]): Promise<string | null> {
  const fault = await findFault(file, accepts);
  if (!fault) return null;
  const takes_pdf = accepts.includes("application/pdf");
  const kinds = takes_pdf ? texts.files.kinds : texts.files.kinds_photo;
  return fill(texts.files.faults[fault], { kinds, size: fileSize(file.size) });
}

function withoutSlot(problems: Record<string, string>, slot: string): Record<string, string> {
  return Object.fromEntries(Object.entries(problems).filter(([name]) => name !== slot));
}
