"""The networks of the papers and of the demo, as plain modules that return logits."""

from mutiny.subjects.architectures.digits import DigitsCnn
from mutiny.subjects.architectures.lenet import LeNet1, LeNet5
from mutiny.subjects.architectures.mnist_cnn import MnistCnn
from mutiny.subjects.architectures.resnet import ResNet20
from mutiny.subjects.architectures.vgg import VGG16

__all__ = ["DigitsCnn", "LeNet1", "LeNet5", "MnistCnn", "ResNet20", "VGG16"]
