import { Button, FileButton, Text, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { CallRefused } from '../client/call.ts'
import { Select, SubmitForm, useTyped } from '../shared/form.tsx'
import { messages, names, pair, useMessages } from '../shared/messages.tsx'
import { Notice, Page, Panel, Reading, RefusalNotice } from '../shared/parts.tsx'
import { problemsOf } from '../shared/refusal.ts'
import { api, type OperatorAnswer, useChange, useMay, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'

type Brand = OperatorAnswer<'getBrand'>
type TextName = Brand['texts'][number]['name']
type Language = Brand['texts'][number]['language']

const textNames = ['headline', 'introduction', 'questions', 'terms', 'privacy'] as const
const imageNames = ['logo', 'icon'] as const

const brandMessages = messages({
  ...operatorTexts,
  about: pair(
    'How visitors and customers see the shop: public page, console, letters, payment and VPN pages, API docs.',
    'Каким магазин видят покупатели: публичная страница, консоль, письма, страницы оплаты и VPN, описание API.',
  ),
  look: pair('Name and colour', 'Название и цвет'),
  name: pair('Name of the shop', 'Название магазина'),
  accent: pair('Accent colour', 'Основной цвет'),
  accentHint: pair('It must be readable with white.', 'Он должен читаться вместе с белым.'),
  contact: pair('Contact', 'Контакт'),
  contactHint: pair('E-mail address or https link', 'Адрес почты или ссылка https'),
  preview: pair('Preview', 'Как это выглядит'),
  previewLight: pair('Light', 'Светлая тема'),
  previewDark: pair('Dark', 'Тёмная тема'),
  buy: pair('Buy', 'Купить'),
  link: pair('Terms', 'Условия'),
  images: pair('Images', 'Картинки'),
  imagesAbout: pair(
    'PNG, JPEG, WebP or SVG, at most 32 KiB. An SVG must have shapes and texts only.',
    'PNG, JPEG, WebP или SVG, не больше 32 КиБ. В SVG могут быть только фигуры и тексты.',
  ),
  imageNames: names({ logo: pair('Logo', 'Логотип'), icon: pair('Icon', 'Значок') }),
  choose: pair('Choose a file', 'Выбрать файл'),
  texts: pair('Texts of the public page', 'Тексты публичной страницы'),
  textsAbout: pair('Markdown without HTML. An empty text is removed.', 'Markdown без HTML. Пустой текст удаляется.'),
  text: pair('Text', 'Текст'),
  which: pair('Which text', 'Какой текст'),
  language: pair('Language', 'Язык'),
  languages: { en: pair('English', 'Английский'), ru: pair('Russian', 'Русский') },
  textNames: {
    headline: pair('Headline', 'Заголовок'),
    introduction: pair('Introduction', 'Введение'),
    questions: pair('Questions and answers', 'Вопросы и ответы'),
    terms: pair('Terms', 'Условия'),
    privacy: pair('Privacy', 'Конфиденциальность'),
  },
  save: pair('Save', 'Сохранить'),
  saved: pair('Saved. Pages show it within seconds.', 'Сохранено. Страницы покажут это через несколько секунд.'),
})

/** Name, colour, images and texts of the shop, with a preview. */
export function BrandPage() {
  const { t } = useMessages(brandMessages)
  const brand = useRead('getBrand')
  return (
    <Page title={t.brand} about={t.about}>
      <Reading of={brand}>
        {(found) => (
          <>
            <Look brand={found} />
            <Images brand={found} />
            <Texts brand={found} />
          </>
        )}
      </Reading>
    </Page>
  )
}

function Saved({ isShown }: { readonly isShown: boolean }) {
  const { t } = useMessages(brandMessages)
  return isShown ? <Notice tone="good">{t.saved}</Notice> : null
}

function Look({ brand }: { readonly brand: Brand }) {
  const { t } = useMessages(brandMessages)
  const may = useMay()
  const save = useChange('setBrand')
  const name = useTyped(brand.name)
  const accent = useTyped(brand.accent)
  const contact = useTyped(brand.contact ?? '')
  const body = { name: name.text, accent: accent.text, contact: contact.text }
  const { would, problems } = usePreview(body)
  const shown = would ?? brand
  return (
    <Panel title={t.look} className="stack">
      {may('setBrand') && (
        <SubmitForm
          label={t.save}
          change={save}
          isReady={Object.keys(problems).length === 0}
          onSubmit={() => save.mutate({ body })}
        >
          <TextInput label={t.name} maxLength={40} error={problems['name']} {...name.props} />
          <TextInput label={t.accent} description={t.accentHint} error={problems['accent']} {...accent.props} />
          <TextInput label={t.contact} description={t.contactHint} error={problems['contact']} {...contact.props} />
        </SubmitForm>
      )}
      <Saved isShown={save.isSuccess} />
      <Text size="sm" fw={600}>
        {t.preview}
      </Text>
      <div className="brand-previews">
        <Preview brand={shown} scheme="light" />
        <Preview brand={shown} scheme="dark" />
      </div>
    </Panel>
  )
}

const previewAfterMs = 300

/** What the shop would make of the typed lines, and the problem of each faulty one, a moment after the last key. */
function usePreview(body: { readonly name: string; readonly accent: string; readonly contact: string }) {
  const may = useMay()
  const { name, accent, contact } = body
  const typed = useMemo(() => ({ name, accent, contact }), [name, accent, contact])
  const [settled] = useDebouncedValue(typed, previewAfterMs)
  const { data, error } = useQuery({
    queryKey: ['brand preview', settled],
    queryFn: () => api.call('setBrand', { body: { ...settled, dry_run: true } }),
    enabled: may('setBrand'),
    placeholderData: (before) => before,
    retry: false,
    gcTime: 0,
  })
  const found = error instanceof CallRefused && typed === settled ? problemsOf(error) : []
  return { would: data, problems: Object.fromEntries(found.map((each) => [each.field, toSentence(each.problem)])) }
}

const toSentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`

type PreviewProps = { readonly brand: Brand; readonly scheme: 'light' | 'dark' }

/** Head, button and link of a page. */
function Preview({ brand, scheme }: PreviewProps) {
  const { t } = useMessages(brandMessages)
  return (
    <figure className={`brand-preview ${scheme}`}>
      <figcaption>{scheme === 'light' ? t.previewLight : t.previewDark}</figcaption>
      <div className="brand">
        {brand.logo !== null && <img className="logo" src={brand.logo} alt="" />}
        {brand.name}
      </div>
      <span className="brand-button" style={{ backgroundColor: brand.accent }}>
        {t.buy}
      </span>
      <span className="brand-link" style={{ color: scheme === 'dark' ? brand.accent_on_dark : brand.accent }}>
        {t.link}
      </span>
    </figure>
  )
}

const toBase64 = async (file: File): Promise<string> => {
  const bytes = new Uint8Array(await file.arrayBuffer())
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

function Images({ brand }: { readonly brand: Brand }) {
  const { t } = useMessages(brandMessages)
  const may = useMay()
  const save = useChange('setBrandImage')
  const send = async (image: (typeof imageNames)[number], file: File | null) => {
    // Clipped a little above the limit: the shop refuses it, and says why.
    const content = file === null ? '' : await toBase64(new File([file.slice(0, 40 * 1024)], file.name))
    save.mutate({ params: { image_name: image }, body: { content } })
  }
  return (
    <Panel title={t.images} className="stack">
      <Text size="sm" c="dimmed">
        {t.imagesAbout}
      </Text>
      {imageNames.map((image) => (
        <div key={image} className="brand-image">
          <Text size="sm">{t.imageNames[image]}</Text>
          {brand[image] !== null && <img className="logo" src={brand[image] ?? ''} alt={t.imageNames[image] ?? ''} />}
          {may('setBrandImage') && (
            <FileButton accept=".png,.jpg,.jpeg,.webp,.svg" onChange={(file) => void (file && send(image, file))}>
              {(props) => (
                <Button {...props} variant="default" size="xs" aria-label={`${t.imageNames[image]}: ${t.choose}`}>
                  {t.choose}
                </Button>
              )}
            </FileButton>
          )}
          {may('setBrandImage') && brand[image] !== null && (
            <Button variant="subtle" color="gray" size="xs" onClick={() => void send(image, null)}>
              {t.remove}
            </Button>
          )}
        </div>
      ))}
      <Saved isShown={save.isSuccess} />
      <RefusalNotice error={save.error} />
    </Panel>
  )
}

function Texts({ brand }: { readonly brand: Brand }) {
  const { t, language: own } = useMessages(brandMessages)
  const [name, setName] = useState<TextName>('headline')
  const [language, setLanguage] = useState<Language>(own)
  const text = brand.texts.find((each) => each.name === name && each.language === language)?.text ?? ''
  return (
    <Panel title={t.texts} className="stack">
      <Text size="sm" c="dimmed">
        {t.textsAbout}
      </Text>
      <Select
        label={t.which}
        value={name}
        onChange={setName}
        options={textNames.map((each) => [each, t.textNames[each]] as const)}
      />
      <Select
        label={t.language}
        value={language}
        onChange={setLanguage}
        options={(['en', 'ru'] as const).map((each) => [each, t.languages[each]] as const)}
      />
      <TextForm key={`${name} ${language}`} name={name} language={language} text={text} />
    </Panel>
  )
}

function TextForm(of: { readonly name: TextName; readonly language: Language; readonly text: string }) {
  const { t } = useMessages(brandMessages)
  const may = useMay()
  const save = useChange('setBrandText')
  const [text, setText] = useState(of.text)
  const body = { language: of.language, text }
  if (!may('setBrandText')) return <Text>{of.text}</Text>
  return (
    <SubmitForm label={t.save} change={save} onSubmit={() => save.mutate({ params: { text_name: of.name }, body })}>
      <Textarea
        label={t.text}
        autosize
        minRows={3}
        maxRows={20}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Saved isShown={save.isSuccess} />
    </SubmitForm>
  )
}
