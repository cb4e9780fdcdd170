import { Group } from "@mantine/core";
import { api } from "../../api.ts";
import { DocumentPreview } from "../../parts/document-preview.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import type { Payout } from "./payout.ts";

/** The document that explains the payout, and the file on request: opening it is logged. */
export function PayoutDocument({ payout }: { payout: Payout }) {
  const { offramp, document_type } = payout;
  const { supporting_document } = offramp;
  return (
    <section className="card facts" aria-label="Document">
      <Group justify="space-between">
        <h2>Document</h2>
        {supporting_document && <StatusChip status={supporting_document.status} />}
      </Group>
      {!supporting_document && <p className="none">None attached.</p>}
      {supporting_document && !document_type && (
        <p className="none">It is not fetched from its address yet.</p>
      )}
      {document_type && (
        <DocumentPreview
          key={offramp.updated_at}
          name={offramp.id}
          type={document_type}
          load={async () => (await api.offramps.documents.download(offramp.id)).blob()}
        />
      )}
    </section>
  );
}
