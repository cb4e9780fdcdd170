import { fileUrl } from "../api.ts";
import type { FileSlotName, UploadedFile } from "../state.ts";
import { fileSize, fill, texts } from "../texts.ts";
import { Icon } from "./icons.tsx";

/** The uploaded file: the image, if it may be shown, and the file type. */
export function FilePreview(props: {
  slot: FileSlotName;
  title: string;
  file: UploadedFile;
  /** An image that is already loaded. */
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
