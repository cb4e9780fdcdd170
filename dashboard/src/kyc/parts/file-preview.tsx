import { fileUrl } from "../api.ts";
import type { FileSlotName, UploadedFile } from "../state.ts";
import { fileSize, fill, texts } from "../texts.ts";
import { Icon } from "./icons.tsx";

/** What was sent: the picture where it may be shown, and what kind of file it is. */
export function FilePreview(props: {
  slot: FileSlotName;
  title: string;
  file: UploadedFile;
  /** A picture that is at hand already. */
  url?: string | null;
  is_small?: boolean;
}) {
  const { slot, title, file, url, is_small } = props;
  const is_pdf = file.type === "application/pdf";
  const source = url ?? (file.can_preview ? fileUrl(slot, file.uploaded_at) : null);
  const kind = is_pdf ? texts.files.pdf : texts.files.photo;
  return (
    <div className={is_small ? "preview small" : "preview"}>
      {!is_pdf && source && (
        <img src={source} alt={fill(texts.files.preview_of, { file: title })} />
      )}
      <p className="file-facts">
        <Icon name="check" />
        <span>
          <strong>{texts.files.done}</strong> · {kind}, {fileSize(file.size)}
          {is_pdf && file.can_preview && (
            <>
              {" · "}
              <a href={fileUrl(slot, file.uploaded_at)} target="_blank" rel="noopener noreferrer">
                {texts.files.open_pdf}
              </a>
            </>
          )}
          {!source && <span className="hint block">{texts.files.hidden}</span>}
        </span>
      </p>
    </div>
  );
}
