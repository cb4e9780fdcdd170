import { useEffect, useRef, useState } from "react";
import { deleteFile, Refusal, uploadFile } from "../api.ts";
import { findFault } from "../file-checks.ts";
import { useSession, wordsFor } from "../session.ts";
import type { FileSlotName } from "../state.ts";
import { fileSize, fill, texts } from "../texts.ts";

export type Upload = {
  /** A picture of the file on its way or just sent; null for a PDF. */
  preview_url: string | null;
  /** From 0 to 1 while it is on its way, else null. */
  share: number | null;
  problem: string | null;
  /** True when the very same file may be sent again. */
  can_retry: boolean;
};

const NOTHING: Upload = { preview_url: null, share: null, problem: null, can_retry: false };

/** Checks a file, sends it and keeps count; one file at a time for a slot. */
export function useUpload(slot: FileSlotName, title: string) {
  const { state, run, update, fail, announce, problems, setProblems } = useSession();
  const [upload, setUpload] = useState<Upload>(NOTHING);
  const last_file = useRef<Blob | null>(null);
  const current = useRef<AbortController | null>(null);
  const accepts = state.files[slot]?.accepts ?? [];

  // Whoever leaves the step while a file is on its way wants it sent all the same.
  const url = upload.preview_url;
  useEffect(() => () => void (url && URL.revokeObjectURL(url)), [url]);

  async function choose(file: Blob) {
    current.current?.abort();
    const fault = await findFault(file, accepts);
    if (fault) {
      const takes_pdf = accepts.includes("application/pdf");
      const kinds = takes_pdf ? texts.files.kinds : texts.files.kinds_photo;
      const problem = fill(texts.files.faults[fault], { kinds, size: fileSize(file.size) });
      setUpload({ ...NOTHING, problem });
      return;
    }
    last_file.current = file;
    await send(file);
  }

  async function send(file: Blob) {
    const controller = new AbortController();
    const { signal } = controller;
    current.current = controller;
    const preview_url = file.type === "application/pdf" ? null : URL.createObjectURL(file);
    const onProgress = (share: number) => {
      if (!signal.aborted) setUpload((known) => ({ ...known, share }));
    };
    setUpload({ ...NOTHING, preview_url, share: 0 });
    setProblems(withoutSlot(problems, slot));
    try {
      update(await run(() => uploadFile(slot, file, onProgress, signal), signal));
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
      update(await run(() => deleteFile(slot)));
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
    if (last_file.current) void send(last_file.current);
  }

  const refuse = (problem: string) => setUpload({ ...NOTHING, problem });
  const told: Upload = { ...upload, problem: upload.problem ?? problems[slot] ?? null };
  return { upload: told, choose, remove, cancel, retry, refuse };
}

function withoutSlot(problems: Record<string, string>, slot: string): Record<string, string> {
  return Object.fromEntries(Object.entries(problems).filter(([name]) => name !== slot));
}
