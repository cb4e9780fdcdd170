import { FileInput, SimpleGrid, TextInput } from "@mantine/core";
import type { PaymentDetail } from "@sliproad/sdk";
import { useState } from "react";
import { api } from "../../api.ts";
import { AccountSelect } from "../../parts/account-select.tsx";
import { ActDialog } from "../../parts/act-dialog.tsx";
import type { QuoteOnPage } from "./quote.ts";

/** Adds one payout to an open quote; many at once come from a file. */
export function AddPayoutDialog({ shown, onClose }: { shown: QuoteOnPage; onClose: () => void }) {
  const { user_id, id: quote_id } = shown.quote;
  const [detail, setDetail] = useState<PaymentDetail | null>(null);
  const [amount, setAmount] = useState("");
  const [reference, setReference] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const send = async (idempotency_key: string) => {
    const document = file && (await uploadFirst(user_id, file, idempotency_key));
    const payout = {
      payment_detail_id: detail!.id,
      destination_amount: amount.trim(),
      destination_currency: detail!.currency!,
      reference: reference.trim(),
      ...(document ? { supporting_document_attributes: document } : {}),
    };
    await api.offramps.create(user_id, quote_id, [payout], { idempotency_key });
    return undefined;
  };
  return (
    <ActDialog
      title="Add a payout"
      act="Add"
      changes={["payouts"]}
      onClose={onClose}
      send={detail?.currency && amount.trim() ? send : null}
    >
      <AccountSelect
        label="Payee"
        placeholder="Choose a bank account of the payer"
        user_id={user_id}
        value={detail}
        onChange={setDetail}
        isDisabled={({ status }) => status === "deactivated"}
        noteOf={({ currency }) => ` · ${currency?.toUpperCase()}`}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          label={detail?.currency ? `Amount in ${detail.currency.toUpperCase()}` : "Amount"}
          placeholder="1234.50"
          inputMode="decimal"
          value={amount}
          onChange={(event) => setAmount(event.currentTarget.value)}
        />
        <TextInput
          label="Reference"
          placeholder="What the payee reads"
          maxLength={140}
          value={reference}
          onChange={(event) => setReference(event.currentTarget.value)}
        />
      </SimpleGrid>
      <FileInput
        label="Document"
        description="A PDF, JPG or PNG of at most 5 MB. It can be attached later."
        placeholder="Choose a file"
        accept="application/pdf,image/jpeg,image/png"
        clearable
        value={file}
        onChange={setFile}
      />
    </ActDialog>
  );
}

async function uploadFirst(user_id: string, file: File, idempotency_key: string) {
  const uploaded = await api.offramps.documents.uploadFirst(user_id, file, {
    idempotency_key: `${idempotency_key}-file`,
  });
  return { submitted_url: uploaded.submitted_url };
}
