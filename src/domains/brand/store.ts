import { bytes, columnsOf, int, oneOf, textColumn } from '../../db/columns.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { type Image, type ImageName, imageNames, type LineName, type TextLanguage, type TextName } from './rules.ts'

/** The announcement in each language, and its times in milliseconds. */
export type AnnouncementName = 'announcement' | 'announcement_from' | 'announcement_until'

export type StoredText = { name: string; language: string; text: string; changedAt: number }

const texts = columnsOf<StoredText>({
  name: textColumn('name'),
  language: textColumn('language'),
  text: textColumn('text'),
  changedAt: int('changed_at'),
})
const images = columnsOf<Image & { readonly name: ImageName }>({
  name: oneOf('name', imageNames),
  type: textColumn('type'),
  content: bytes('content'),
  changedAt: int('changed_at'),
})

export const listTexts = (reader: Reader): Promise<StoredText[]> =>
  texts.all(reader, 'SELECT * FROM brand_texts ORDER BY name, language')

export const listImages = (reader: Reader) => images.all(reader, 'SELECT * FROM brand_images ORDER BY name')

/** Writes a text; an empty one is deleted, so that the default holds. */
export async function putText(
  tx: Tx,
  name: LineName | TextName | AnnouncementName,
  language: TextLanguage | '',
  text: string,
  nowMs: number,
): Promise<void> {
  if (text === '') {
    await tx.run('DELETE FROM brand_texts WHERE name = $1 AND language = $2', [name, language])
    return
  }
  await tx.run(
    `INSERT INTO brand_texts (name, language, text, changed_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (name, language) DO UPDATE SET text = excluded.text, changed_at = excluded.changed_at`,
    [name, language, text, nowMs],
  )
}

export async function putImage(tx: Tx, name: ImageName, image: Image): Promise<void> {
  await tx.run(
    `INSERT INTO brand_images (name, type, content, changed_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (name) DO UPDATE
     SET type = excluded.type, content = excluded.content, changed_at = excluded.changed_at`,
    [name, image.type, image.content, image.changedAt],
  )
}

export const deleteImage = (tx: Tx, name: ImageName) => tx.run('DELETE FROM brand_images WHERE name = $1', [name])
