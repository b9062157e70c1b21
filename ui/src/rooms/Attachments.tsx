import { FileText } from "lucide-react";
import type { File_ } from "../api/nouns";
import { size } from "../words/en";
import s from "./rooms.module.css";

export function Attachments({ files }: { files: readonly File_[] }) {
  if (!files.length) return null;
  return (
    <div className={s.files}>
      {files.map((file) => (
        <Attachment key={file.id} file={file} />
      ))}
    </div>
  );
}

function Attachment({ file }: { file: File_ }) {
  const content = `/api/files/${file.id}/content`;
  if (file.thumbnail)
    return (
      <a className={s.picture} href={content} download={file.name}>
        <img src={`/api/files/${file.id}/thumbnail`} alt={file.name} width={file.thumbnail.width} height={file.thumbnail.height} loading="lazy" />
      </a>
    );
  if (file.type.startsWith("audio/"))
    return (
      <figure>
        <audio controls preload="none" src={content} aria-label={`Voice: ${file.name}`} />
      </figure>
    );
  return (
    <a className={s.file} href={content} download={file.name}>
      <FileText size={18} aria-hidden />
      <span>
        <bdi>{file.name}</bdi>
        <small>{size(file.size)}</small>
      </span>
    </a>
  );
}
