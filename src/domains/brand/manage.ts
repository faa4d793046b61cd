import { type Contact, readContact } from '../../core/contact.ts'
import { refuseField, refuseTogether } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { TtlCache } from '../../core/ttl-cache.ts'
import type { Database } from '../../db/transaction.ts'
import {
  type Announcement,
  type Brand,
  type Image,
  type ImageName,
  imageNames,
  isAnnounced,
  type LineName,
  languages,
  lineNames,
  maxAnnouncementLength,
  maxHeadlineLength,
  maxNameLength,
  maxTextLength,
  readAccent,
  readImage,
  type TextLanguage,
  type TextName,
  textNames,
  usualAccent,
  usualName,
} from './rules.ts'
import * as store from './store.ts'

type Kept = {
  readonly brand: Brand
  readonly announcement: Announcement
  readonly images: ReadonlyMap<ImageName, Image>
}
export type BrandDeps = {
  readonly db: Database
  readonly clock: Clock
  /** The setting TURNPIKE_CONTACT, which holds while the brand has no contact. */
  readonly contact: Contact | undefined
  readonly kept: TtlCache<undefined, Kept>
}

export async function load({ db, clock, contact }: Omit<BrandDeps, 'kept'>): Promise<Kept> {
  const texts = await store.listTexts(db)
  const stored = await store.listImages(db)
  const lineOf = (name: LineName) => texts.find((each) => each.name === name && each.language === '')?.text
  const inLanguages = (name: TextName | 'announcement') =>
    Object.fromEntries(texts.filter((each) => each.name === name).map(({ language, text }) => [language, text]))
  const pathOf = (name: ImageName) => {
    const image = stored.find((each) => each.name === name)
    return image && `/brand/${name}?v=${Bun.hash(image.content).toString(36)}`
  }
  const instantOf = (name: 'announcement_from' | 'announcement_until') => {
    const text = texts.find((each) => each.name === name)?.text
    return text === undefined ? undefined : Number(text)
  }
  const announcement: Announcement = {
    texts: inLanguages('announcement'),
    fromAt: instantOf('announcement_from'),
    untilAt: instantOf('announcement_until'),
  }
  return {
    announcement,
    brand: {
      announcement: isAnnounced(announcement, clock()) ? announcement.texts : undefined,
      name: lineOf('name') ?? usualName,
      accent: lineOf('accent') ?? usualAccent,
      contact: readContact(lineOf('contact') ?? '') ?? contact,
      texts: Object.fromEntries(textNames.map((name) => [name, inLanguages(name)])),
      logo: pathOf('logo'),
      icon: pathOf('icon'),
    },
    images: new Map(stored.map((each) => [each.name, each])),
  }
}

/** The brand, at most two seconds old. */
export const current = async ({ kept }: BrandDeps): Promise<Brand> => (await kept.get(undefined)).brand

export const image = async ({ kept }: BrandDeps, name: string): Promise<Image | undefined> => {
  const known = imageNames.find((each) => each === name)
  return known && (await kept.get(undefined)).images.get(known)
}

const isLine = (text: string, max: number): boolean =>
  text.length <= max && text === text.trim() && /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(text)

type Lines = Readonly<Partial<Record<LineName, string | undefined>>>

/** Refuses every faulty line at once. */
function readLines({ name, contact, accent }: Lines) {
  let colour: string | undefined = accent
  refuseTogether(
    () => {
      if (name !== undefined && !isLine(name, maxNameLength)) {
        throw refuseField('name', 'printable', { from: 0, to: maxNameLength })
      }
    },
    () => {
      if (contact && !readContact(contact)) throw refuseField('contact', 'contact')
    },
    () => {
      if (accent) colour = readAccent(accent)
    },
  )
  return { name, contact, accent: colour }
}

/** The brand as it would be with these lines. Nothing is written. */
export async function previewLines(deps: BrandDeps, lines: Lines): Promise<Brand> {
  const { name, contact, accent } = readLines(lines)
  const brand = await current(deps)
  return {
    ...brand,
    ...(name !== undefined && { name: name || usualName }),
    ...(contact !== undefined && { contact: readContact(contact) ?? deps.contact }),
    ...(accent !== undefined && { accent: readAccent(accent || usualAccent) }),
  }
}

/** Sets texts of one line; an empty one returns to the default. */
export async function setLines(deps: BrandDeps, lines: Lines): Promise<Brand> {
  const changed = readLines(lines)
  await deps.db.transact(async (tx) => {
    for (const line of lineNames) {
      const text = changed[line]
      if (text !== undefined) await store.putText(tx, line, '', text, deps.clock())
    }
  })
  return readAgain(deps)
}

/** Sets a text in a language; an empty one is removed. */
export async function setText(deps: BrandDeps, name: TextName, language: TextLanguage, text: string): Promise<Brand> {
  const max = name === 'headline' ? maxHeadlineLength : maxTextLength
  if (text.length > max) throw refuseField('text', 'max_characters', { max })
  await deps.db.transact((tx) => store.putText(tx, name, language, text.trim(), deps.clock()))
  return readAgain(deps)
}

/** The announcement, also before its beginning and after its end. */
export const announced = async ({ kept }: BrandDeps): Promise<Announcement> => (await kept.get(undefined)).announcement

/** Replaces the announcement; without texts there is none. */
export async function announce(deps: BrandDeps, { texts, fromAt, untilAt }: Announcement): Promise<Announcement> {
  for (const language of languages) {
    if (!isLine(texts[language] ?? '', maxAnnouncementLength))
      throw refuseField(`text_${language}`, 'printable', { from: 0, to: maxAnnouncementLength })
  }
  if (untilAt !== undefined && untilAt <= Math.max(fromAt ?? 0, deps.clock()))
    throw refuseField('until', 'later_than', { other: fromAt === undefined ? 'now' : 'from' })
  const nowMs = deps.clock()
  await deps.db.transact(async (tx) => {
    for (const language of languages) {
      await store.putText(tx, 'announcement', language, texts[language] ?? '', nowMs)
    }
    await store.putText(tx, 'announcement_from', '', String(fromAt ?? ''), nowMs)
    await store.putText(tx, 'announcement_until', '', String(untilAt ?? ''), nowMs)
  })
  deps.kept.clear()
  return announced(deps)
}

/** Sets an image, as base64; an empty text removes it. */
export async function setImage(deps: BrandDeps, name: ImageName, content: string): Promise<Brand> {
  const read = content === '' ? undefined : readImage(content)
  await deps.db.transact(async (tx) => {
    if (read) await store.putImage(tx, name, { ...read, changedAt: deps.clock() })
    else await store.deleteImage(tx, name)
  })
  return readAgain(deps)
}

function readAgain(deps: BrandDeps): Promise<Brand> {
  deps.kept.clear()
  return current(deps)
}
