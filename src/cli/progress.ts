import type { JsonOption } from "./output.ts";

/** Progress of long work: `done` of `total`, and the unit counted. */
export type Progress = {
  /** Whether it is shown: if not, nothing is worth waiting for. */
  is_seen: boolean;
  show(state: { done: number; total: number; unit: string; note?: string }): void;
  /** Removes the line, so that only results remain. */
  end(): void;
};

type Terminal = { isTTY?: boolean; columns?: number; write(text: string): unknown };

const BAR_WIDTH = 24;
const REDRAW_MS = 100;
const CLEAR_LINE = "\r\u001b[2K";

const SILENT: Progress = { is_seen: false, show: () => {}, end: () => {} };

/** One line on stderr at a terminal; nothing in files and pipes, nor with --json. */
export function openProgress(options: JsonOption, terminal: Terminal = process.stderr): Progress {
  if (options.json || terminal.isTTY !== true) return SILENT;
  let drawn_ms: number | null = null;
  return {
    is_seen: true,
    show: (state) => {
      const now_ms = performance.now();
      if (drawn_ms !== null && now_ms - drawn_ms < REDRAW_MS) return;
      drawn_ms = now_ms;
      terminal.write(`${CLEAR_LINE}${progressLine(state).slice(0, (terminal.columns || 80) - 1)}`);
    },
    end: () => {
      if (drawn_ms !== null) terminal.write(CLEAR_LINE);
      drawn_ms = null;
    },
  };
}

/** `[############------------] 3 of 6 accounts, 120 pages read` */
function progressLine({ done, total, unit, note }: Parameters<Progress["show"]>[0]): string {
  const filled = total > 0 ? Math.round((Math.min(done, total) / total) * BAR_WIDTH) : 0;
  const bar = `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}]`;
  return `${bar} ${done} of ${total} ${unit}${note ? `, ${note}` : ""}`;
}

/** Shows progress while the work runs, and removes it however the work ends. */
export async function withProgress<Result>(
  options: JsonOption,
  work: (progress: Progress) => Promise<Result>,
): Promise<Result> {
  const progress = openProgress(options);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}
