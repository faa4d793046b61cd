import { testSeeds } from './short-seeds.ts'

testSeeds(1, 3, 'postgres')
