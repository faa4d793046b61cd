import * as brand from '../../api/admin/brand/shapes.ts'
import { type OperationCommand, over } from '../operation-command.ts'
import { readTextFile } from '../print.ts'

const file = { name: 'FILE', meaning: 'The file; an empty one removes.' }

export const brandCommands: readonly OperationCommand[] = [
  over(brand.getBrand, 'brand show'),
  over(brand.setBrand, 'brand set', { show: ({ name, accent }) => `The shop is ${name}, with ${accent}.` }),
  over(brand.setBrandText, 'brand text', {
    args: 'language',
    filled: 'text',
    takes: [{ ...file, meaning: 'A file with Markdown; - reads the standard input, an empty one removes the text.' }],
    fill: async ({ args }) => ({ text: await readTextFile(args[2] ?? '') }),
    show: ({ texts }) => `${texts.length} texts are set.`,
  }),
  over(brand.getAnnouncement, 'announcement show'),
  over(brand.setAnnouncement, 'announcement set', {
    show: ({ text_en: en, text_ru: ru, is_shown: isShown }) =>
      en === null && ru === null ? 'Nothing is announced.' : isShown ? 'It is shown now.' : 'It is shown later.',
  }),
  over(brand.setBrandImage, 'brand image', {
    filled: 'content',
    takes: [{ ...file, meaning: 'PNG, JPEG, WebP or SVG; an empty file removes the image.' }],
    fill: async ({ args }) => ({ content: Buffer.from(await Bun.file(args[1] ?? '').bytes()).toString('base64') }),
    show: ({ logo, icon }) => [`Logo: ${logo ?? 'none'}.`, `Icon: ${icon ?? 'none'}.`],
  }),
]
