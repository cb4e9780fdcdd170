import { FileInput, Radio, Stack, Textarea } from "@mantine/core";
import { useState } from "react";
import { api } from "../../api.ts";
import { DocumentPreview } from "../../parts/document-preview.tsx";
import { loadFile } from "../documents/document.ts";
import { ActionDialog } from "./action-dialog.tsx";
import type { Payout } from "./payout.ts";

const WITH_THE_BANK: readonly string[] = ["sending_fiat", "fiat_sent"];

type Props = { payout: Payout; onClose: () => void };

export function UploadDialog({ payout, onClose }: Props) {
  const [file, setFile] = useState<File | null>(null);
  const { id, supporting_document, status } = payout.offramp;
  const send = file
    ? async (idempotency_key: string) => {
        await api.offramps.documents.upload(id, file, { idempotency_key });
        return undefined;
      }
    : null;
  return (
    <ActionDialog title="Attach a document" act="Attach" {...{ payout, send, onClose }}>
      <FileInput
        label="File"
        description="A PDF, JPG or PNG of at most 5 MB: an invoice, a contract, a payslip."
        placeholder="Choose a file"
        accept="application/pdf,image/jpeg,image/png"
        value={file}
        onChange={setFile}
      />
      {supporting_document && <p className="quiet">It replaces the document that is there.</p>}
      {WITH_THE_BANK.includes(status) && (
        <p className="quiet">The money has left: the document is kept, and decides nothing more.</p>
      )}
    </ActionDialog>
  );
}

type Verdict = "approved" | "rejected";

export function ReviewDialog({ payout, onClose }: Props) {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const [comment, setComment] = useState("");
  // The file that is shown, and no later one: the page loads again when it is replaced.
  const [{ hash, type }] = useState({ hash: payout.document_hash, type: payout.document_type });
  const is_ready = verdict === "approved" || (verdict === "rejected" && comment.trim() !== "");
  const send = is_ready
    ? (idempotency_key: string) =>
        api.offramps.documents.review(
          payout.offramp.id,
          { status: verdict, hash, ...(verdict === "rejected" ? { comment: comment.trim() } : {}) },
          { idempotency_key },
        )
    : null;
  return (
    <ActionDialog
      title="Check the document"
      act={verdict === "rejected" ? "Reject the document" : "Approve the document"}
      is_dangerous={verdict === "rejected"}
      {...{ payout, send, onClose }}
    >
      {hash && type ? (
        <DocumentPreview
          name={payout.offramp.id}
          type={type}
          load={() => loadFile(payout.offramp.id, hash)}
        />
      ) : (
        <p className="none">It is not fetched from its address yet.</p>
      )}
      <Radio.Group
        label="Does it explain this payout?"
        value={verdict}
        onChange={(next) => setVerdict(next as Verdict)}
      >
        <Stack gap="xs" mt="xs">
          <Radio value="approved" label="Yes, approve it" disabled={type === null} />
          <Radio value="rejected" label="No, reject it" />
        </Stack>
      </Radio.Group>
      {verdict === "rejected" && (
        <Textarea
          label="What is wrong with it"
          description="The payer reads this."
          required
          maxLength={500}
          value={comment}
          onChange={(event) => setComment(event.currentTarget.value)}
        />
      )}
    </ActionDialog>
  );
}
