import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createHttpDocuments } from "../../src/partners/documents/http.ts";
import type { DocumentSource } from "../../src/partners/documents/port.ts";
import { SAMPLE_PDF } from "../../src/partners/documents/sample-pdf.ts";
import { createSandboxDocuments } from "../../src/partners/documents/sandbox.ts";
import { createGuardedSender } from "../../src/partners/outbound-http/guarded-sender.ts";

const account_id = "01a1dd11-4aee-7000-adc7-78aca4556f62";

async function withSources(work: (sources: Record<string, DocumentSource>) => Promise<void>) {
  const sender = createGuardedSender({ allow_list: [], allow_loopback: false });
  const http = createHttpDocuments(sender);
  try {
    await work({ http, sandbox: createSandboxDocuments(http) });
  } finally {
    sender.close();
  }
}

async function fetchFrom(source: DocumentSource, url: string) {
  const taken: Buffer[] = [];
  const failure = await source.fetch({
    account_id,
    url,
    bytes_max: 5_000_000,
    take: async (body) => void taken.push(await buffer(body)),
  });
  return { failure, taken };
}

it("no source fetches a document from an IP address that is not public", () =>
  withSources(async (sources) => {
    for (const [name, source] of Object.entries(sources)) {
      const url = "https://10.1.2.3/invoice.pdf";
      expect(source.refuse(url), name).toMatch(/10\.1\.2\.3/);
      const { failure, taken } = await fetchFrom(source, url);
      expect(failure, name).toMatchObject({ is_final: true });
      expect(taken, name).toEqual([]);
    }
  }));

it("in sandbox, and only there, a host under .test serves the sample", () =>
  withSources(async ({ http, sandbox }) => {
    const url = "https://Files.TEST:8443/invoice.pdf";
    expect(sandbox!.refuse(url)).toBeNull();
    expect(await fetchFrom(sandbox!, url)).toEqual({ failure: null, taken: [SAMPLE_PDF] });
    expect(http!.refuse(url)).not.toBeNull();
    const { failure, taken } = await fetchFrom(http!, url);
    expect(failure).not.toBeNull();
    expect(taken).toEqual([]);
  }));
